package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

// A real cron daemon runs the line of the example, and a todo whose lease is over comes back. Only root can give cron a table without
// touching anybody's own; for any other user the line runs in cron's environment, as cron would run it.
func TestReapUnderCron(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	s := newShell(t, url)
	s.place("url", url+"\n")
	id := strings.TrimSpace(s.run("todoctl", "enqueue", "-q", "q"))
	s.run("todoctl", "claim", "-q", "q", "--quiet")
	if _, err := pgtest.Connect(t, url).Exec(t.Context(), "UPDATE todos SET lease_expires_at = now() - interval '1 s'"); err != nil {
		t.Fatal(err)
	}
	path, err := exec.LookPath("todoctl")
	if err != nil {
		t.Fatal(err)
	}
	said := filepath.Join(s.home(), "said") // what cron would mail
	line := matches(t, "docs/examples/todoctl-reap.cron", `(?m)^\* \* \* \* \* todoctl (.*)$`)[0]
	line = strings.NewReplacer("/usr/bin/todoctl", path, "/etc/todoctl/database-url", filepath.Join(s.home(), "url")).Replace(line) + " >>" + said + " 2>&1"
	if os.Geteuid() == 0 {
		underCron(t, line)
	} else {
		c := exec.Command("/bin/sh", "-c", line)
		c.Env = []string{"PATH=/usr/bin:/bin", "SHELL=/bin/sh", "HOME=" + s.home(), "LOGNAME=nobody"}
		if err := c.Run(); err != nil {
			t.Error(err)
		}
	}
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if strings.TrimSpace(s.run("todoctl", "show", id, "--fields", "condition", "-o", "tsv")) == "pending" {
			break
		}
		if time.Now().After(end) {
			text, _ := os.ReadFile(said)
			t.Fatalf("cron did not bring it back: %s", text)
		}
	}
	if text, err := os.ReadFile(said); err != nil || len(text) > 0 {
		t.Errorf("cron would mail %q, %v", text, err)
	}
}

// underCron runs a line each minute while the test lasts: by a daemon of the test's own, or by the one that runs already, which alone
// may then.
func underCron(t *testing.T, line string) {
	t.Helper()
	table := fmt.Sprintf("/etc/cron.d/todoctl-test-%d", os.Getpid()) // no dot: cron passes over such names
	if err := os.WriteFile(table, []byte("* * * * * root "+line+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(table); err != nil {
			t.Error(err)
		}
	})
	name, flag := "cron", "-f"
	if _, err := exec.LookPath(name); err != nil {
		name, flag = "crond", "-n"
	}
	daemon := exec.Command(name, flag)
	daemon.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- daemon.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-daemon.Process.Pid, syscall.SIGTERM)
		if err := <-done; err != nil {
			var exit *exec.ExitError // ended by our signal, or at once because another runs
			if !errors.As(err, &exit) {
				t.Error(err)
			}
		}
	})
}
