package localpg

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const peerUnknown = -1 // no process id; a system that cannot tell returns it

// peerPID returns the process that listens at the other end of a Unix socket.
func peerPID(fd int) int {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0
	}
	return int(cred.Pid)
}

// isPostmaster asks the kernel whether pid lives in dataDir, where each postmaster changes to. In a
// container root may not look at that of another user, but everybody sees the arguments, and we
// start the server with the directory among them. A process that has ended but was not reaped has
// neither.
func isPostmaster(pid int, dataDir string) bool {
	proc := "/proc/" + strconv.Itoa(pid)
	cwd, err := os.Readlink(proc + "/cwd")
	if err == nil {
		return sameDir(cwd, dataDir)
	}
	return errors.Is(err, os.ErrPermission) && argumentsName(proc+"/cmdline", dataDir)
}

func argumentsName(cmdline, dataDir string) bool {
	b, err := os.ReadFile(cmdline)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(strings.Split(string(b), "\x00"), func(arg string) bool {
		return filepath.IsAbs(arg) && sameDir(arg, dataDir)
	})
}
