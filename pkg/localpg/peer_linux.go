package localpg

import (
	"os"
	"strconv"

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

// isPostmaster asks the kernel whether pid lives in dataDir, where each postmaster changes to. A
// process that has ended but was not reaped lives nowhere.
func isPostmaster(pid int, dataDir string) bool {
	cwd, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/cwd")
	return err == nil && sameDir(cwd, dataDir)
}
