//go:build unix && !linux && !darwin

package localpg

const peerUnknown = -1 // no process id; a system that cannot tell returns it

func peerPID(int) int { return peerUnknown }

func isPostmaster(pid int, dataDir string) bool { return psIsPostgres(pid) }
