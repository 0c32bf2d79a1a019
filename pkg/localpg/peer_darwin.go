package localpg

import "golang.org/x/sys/unix"

const peerUnknown = -1 // no process id; a system that cannot tell returns it

// peerPID returns the process that listens at the other end of a Unix socket.
func peerPID(fd int) int {
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	if err != nil {
		return 0
	}
	return pid
}

func isPostmaster(pid int, dataDir string) bool { return psIsPostgres(pid) }
