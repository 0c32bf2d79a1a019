//go:build unix && !linux

package localpg

import (
	"os/exec"
	"strconv"
	"strings"
)

// psIsPostgres asks ps whether pid is a postgres that has not ended. It errs on the safe side: a
// postmaster of another directory passes too, and then start refuses instead of taking over.
func psIsPostgres(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=,comm=", "-p", strconv.Itoa(pid)).Output()
	s := strings.TrimSpace(string(out))
	return err == nil && !strings.HasPrefix(s, "Z") && strings.Contains(s, "postgres")
}
