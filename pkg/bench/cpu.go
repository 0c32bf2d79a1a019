package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// processorTime is what this program, those that it has run to their end and the server have used of the
// processors so far. The difference of two does not depend on what else the machine does, or hardly.
func (b *bench) processorTime() (time.Duration, error) {
	var total time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			return 0, err
		}
		total += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	server := strconv.Itoa(b.server.PID())
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, err
	}
	found := false
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		_, after, _ := strings.Cut(string(text), ") ")
		f := strings.Fields(after)
		if len(f) < 15 {
			continue
		}
		own, parent := filepath.Base(filepath.Dir(name)) == server, f[1] == server
		switch {
		case own: // with the backends that have ended
			found = true
			total += ticks(f[11]) + ticks(f[12]) + ticks(f[13]) + ticks(f[14])
		case parent:
			total += ticks(f[11]) + ticks(f[12])
		}
	}
	if !found {
		return 0, fmt.Errorf("the processor time of the server, process %s, is not in /proc", server)
	}
	return total, nil
}

// ticks reads a time of /proc, in hundredths of a second on every Linux that Go runs on.
func ticks(text string) time.Duration {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return time.Duration(n) * 10 * time.Millisecond
}
