//go:build unix

package localpg_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/todoctl/todoctl/pkg/localpg"
	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/todo"
)

// A crash leaves postmaster.pid, the socket and, for a moment, the server's children.
func TestCrashIsSurvived(t *testing.T) {
	o := pgtest.Options(t)
	o.Durable = true
	s := start(t, o)
	execute(t, s.URL("todoctl"), "CREATE TABLE kept AS SELECT 7 AS n")
	if err := unix.Kill(s.PID(), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for state := localpg.StateRunning; state != localpg.StateStopped; {
		st, err := o.Status()
		if err != nil {
			t.Fatal(err)
		}
		state = st.State // a killed process needs a moment to be gone
	}
	again := start(t, o)
	if again.PID() == s.PID() || again.Attached() {
		t.Error("attached to a server that was killed")
	}
	if got := query(t, again.URL("todoctl"), "SELECT n::text FROM kept"); got != "7" {
		t.Errorf("after the crash: %s", got)
	}
	stop(t, again)
}

// After a reboot the pid of the file may be anything, a process of the server's user included,
// which PostgreSQL itself takes for a postmaster. It is not to be signalled either.
func TestStalePidOfAnotherProcess(t *testing.T) {
	o := pgtest.Options(t)
	s := start(t, o)
	files := []string{filepath.Join(o.DataDir, "postmaster.pid"), filepath.Join(s.SocketDir(), ".s.PGSQL.5432.lock")}
	stale := make([]string, len(files))
	for i, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		stale[i] = string(b)
	}
	fi, err := os.Stat(o.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	stop(t, s)

	other := exec.Command("sleep", "1000")
	if owner := fi.Sys().(*syscall.Stat_t); os.Geteuid() == 0 {
		other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = other.Wait(); close(ended) }()
	defer func() { _ = other.Process.Kill(); <-ended }()
	for i, path := range files {
		_, rest, _ := strings.Cut(stale[i], "\n")
		if err := os.WriteFile(path, fmt.Appendf(nil, "%d\n%s", other.Process.Pid, rest), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(path, int(fi.Sys().(*syscall.Stat_t).Uid), int(fi.Sys().(*syscall.Stat_t).Gid)); err != nil {
			t.Fatal(err)
		}
	}

	wantState(t, o, localpg.StateStopped)
	_, err = localpg.Attach(deadline(t), o)
	wantError(t, err, todo.CodeUnavailable)
	if err := localpg.Kill(deadline(t), o.DataDir); err != nil {
		t.Error(err)
	}
	s = start(t, o)
	if s.Attached() {
		t.Error("attached to sleep")
	}
	stop(t, s)
	select {
	case <-ended:
		t.Error("a process that only has the pid of the file was ended")
	default:
	}
}

// Data of another major version is never touched, whatever is installed.
func TestOtherMajorVersion(t *testing.T) {
	o := options(t)
	if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	version := filepath.Join(o.DataDir, "PG_VERSION")
	if err := os.WriteFile(version, []byte("8.4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bin, err := localpg.Find(deadline(t), localpg.Options{DataDir: "/nonexistent", Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	_, err = localpg.Start(deadline(t), o)
	wantError(t, err, todo.CodeUnavailable, "8.4", "PostgreSQL "+bin.Version, o.DataDir)
	left, err := os.ReadDir(o.DataDir)
	if err != nil || len(left) != 1 || left[0].Name() != "PG_VERSION" {
		t.Errorf("the data directory was changed: %v %v", left, err)
	}
}

func TestDirectoryWithOtherThingsIsLeftAlone(t *testing.T) {
	o := options(t)
	file := filepath.Join(o.DataDir, "thesis.txt")
	if err := os.MkdirAll(o.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("all of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := localpg.Start(deadline(t), o)
	wantError(t, err, todo.CodeUsage, o.DataDir, "neither empty")
	if b, err := os.ReadFile(file); err != nil || string(b) != "all of it" {
		t.Errorf("the file is gone: %v", err)
	}
}

// An empty directory is used, also one that is reached by a link.
func TestEmptyDirectoryBehindLink(t *testing.T) {
	o := options(t)
	real := filepath.Join(filepath.Dir(o.DataDir), "real")
	if err := os.Mkdir(real, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, o.DataDir); err != nil {
		t.Fatal(err)
	}
	s := start(t, o)
	if s.DataDir() != real {
		t.Errorf("the data is in %s", s.DataDir())
	}
	if fi, err := os.Lstat(o.DataDir); err != nil || fi.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v", err)
	}
	found, err := localpg.Attach(deadline(t), o)
	if err != nil {
		t.Fatal(err)
	}
	stop(t, found)
	wantState(t, o, localpg.StateStopped)
}

func TestFailureTellsWhy(t *testing.T) {
	o := pgtest.Options(t)
	o.Settings = map[string]string{"shared_buffers": "much"}
	_, err := localpg.Start(deadline(t), o)
	wantError(t, err, todo.CodeUnavailable, "did not start", "shared_buffers", o.LogFile())
	if got := details(err); !strings.Contains(got, "FATAL") {
		t.Errorf("the log's lines do not come with the error: %q", got)
	}
	o.Settings = nil
	s := start(t, o) // what initdb made is not lost by a failed start
	stop(t, s)
}

func TestInitdbFailureTellsWhy(t *testing.T) {
	bin := filepath.Join(pgDir(t), "bin")
	for name, body := range map[string]string{
		"postgres": "echo 'postgres (PostgreSQL) 15.0'",
		"initdb":   "echo 'initdb: error: the disk is made of cheese' >&2; exit 1",
	} {
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	o := options(t)
	o.BinDir = bin
	_, err := localpg.Start(deadline(t), o)
	wantError(t, err, todo.CodeUnavailable, "initdb failed: the disk is made of cheese")
	if _, err := os.Stat(o.DataDir); !os.IsNotExist(err) {
		t.Errorf("half a data directory was left: %v", err)
	}
}

// pgDir is a directory in which programs may be run; memory file systems often forbid that.
func pgDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "localpg-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Something that cleans up /tmp may take the socket away from under a running server.
func TestSocketThatWasSweptAway(t *testing.T) {
	o := pgtest.Options(t)
	s := start(t, o)
	if err := os.Remove(filepath.Join(s.SocketDir(), ".s.PGSQL.5432")); err != nil {
		t.Fatal(err)
	}
	wantState(t, o, localpg.StateUnreachable)
	_, err := localpg.Start(deadline(t), o)
	wantError(t, err, todo.CodeUnavailable, "does not answer", "todoctl local stop")
	_, err = localpg.Attach(deadline(t), o)
	wantError(t, err, todo.CodeUnavailable, "does not answer")
	if stopped, err := localpg.Stop(deadline(t), o); err != nil || !stopped {
		t.Fatalf("stop: %v %v", stopped, err)
	}
	if stopped, err := localpg.Stop(deadline(t), o); err != nil || stopped {
		t.Errorf("second stop: %v %v", stopped, err)
	}
	wantState(t, o, localpg.StateStopped)
	stop(t, start(t, o))
}

func TestRunningURL(t *testing.T) {
	state := filepath.Dir(options(t).DataDir)
	getenv := func(name string) string {
		switch name {
		case "XDG_STATE_HOME":
			return state
		case "PATH":
			return os.Getenv("PATH")
		}
		return ""
	}
	if url, ok := localpg.RunningURL(getenv); ok {
		t.Errorf("before the start: %s", url)
	}
	o, err := localpg.DefaultOptions(getenv)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, o)
	url, ok := localpg.RunningURL(getenv)
	if !ok || url != s.URL("todoctl") {
		t.Errorf("while it runs: %q %v", url, ok)
	}
	if got := query(t, url, "SELECT 'ok'"); got != "ok" {
		t.Error(got)
	}
	socket := s.SocketDir()
	if err := localpg.Kill(deadline(t), o.DataDir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("the socket directory %s was left by kill: %v", socket, err)
	}
	s = start(t, o)
	stop(t, s)
	if url, ok := localpg.RunningURL(getenv); ok {
		t.Errorf("after the stop: %s", url)
	}
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("the socket directory %s was left: %v", socket, err)
	}
}
