package localpg

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// pidFile is what a postmaster says about itself in postmaster.pid, one thing a line. It outlives
// a crash, so nothing in it is true until the process has been looked at.
type pidFile struct {
	pid     int
	started time.Time
	port    string
	socket  string // directory
	ready   bool
}

func readPidFile(dataDir string) (pidFile, bool) {
	b, err := os.ReadFile(filepath.Join(dataDir, "postmaster.pid"))
	if err != nil {
		return pidFile{}, false
	}
	lines := strings.Split(string(b), "\n")
	line := func(i int) string {
		if i < len(lines) {
			return strings.TrimSpace(lines[i])
		}
		return ""
	}
	var p pidFile
	// A postmaster in single-user mode writes its pid negated: nobody can connect to that.
	if p.pid, err = strconv.Atoi(line(0)); err != nil || p.pid <= 0 {
		return pidFile{}, false
	}
	if sec, err := strconv.ParseInt(line(2), 10, 64); err == nil {
		p.started = time.Unix(sec, 0).UTC()
	}
	p.port, p.socket = line(3), line(4)
	p.ready = line(7) == "ready"
	return p, true
}

func (p pidFile) socketFile() string { return filepath.Join(p.socket, ".s.PGSQL."+p.port) }
