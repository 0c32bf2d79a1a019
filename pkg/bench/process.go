package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// env is what todoctl is run with: this database and no config of the user's.
func (b *bench) env(url string) []string {
	own := slices.DeleteFunc(os.Environ(), func(s string) bool { return strings.HasPrefix(s, "TODOCTL_") || strings.HasPrefix(s, "PG") })
	return append(own, "TODOCTL_DATABASE_URL="+url, "TODOCTL_CONFIG="+os.DevNull)
}

// finished is a program that has ended.
type finished struct {
	out  string
	took time.Duration // from its start to its end
	peak float64       // MiB that it had resident at most; 0 where the system does not tell
}

// program runs one to its end. Its standard input is a file, or nothing.
func program(ctx context.Context, env []string, stdin string, argv ...string) (finished, error) {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Env = env
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if stdin != "" {
		f, err := os.Open(stdin)
		if err != nil {
			return finished{}, err
		}
		defer f.Close()
		c.Stdin = f
	}
	began := time.Now()
	if err := c.Start(); err != nil {
		return finished{}, err
	}
	stop := make(chan struct{})
	peak := make(chan float64, 1)
	go func() { peak <- watchMemory(c.Process.Pid, stop) }()
	err := c.Wait()
	took := time.Since(began)
	close(stop)
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, errs.String())
	}
	return finished{out: strings.TrimSpace(out.String()), took: took, peak: <-peak}, err
}

// watchMemory reads the peak of a process's resident memory until it has ended. What getrusage says
// of a child includes the memory of the one that forked it.
func watchMemory(pid int, stop <-chan struct{}) (peak float64) {
	// Soon at first: a program with little to do has ended after a few milliseconds.
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		select {
		case <-stop:
			return peak
		case <-time.After(pause):
		}
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil {
			continue
		}
		_, after, _ := strings.Cut(string(text), "VmHWM:")
		if f := strings.Fields(after); len(f) > 0 {
			if kib, err := strconv.ParseFloat(f[0], 64); err == nil {
				peak = max(peak, kib/1024)
			}
		}
	}
}

// todo runs the released program.
func (b *bench) todo(ctx context.Context, url, stdin string, args ...string) (finished, error) {
	return program(ctx, b.env(url), stdin, append([]string{b.todoctl}, args...)...)
}
