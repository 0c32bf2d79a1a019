//go:build unix

package pgtest_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"github.com/todoctl/todoctl/pkg/localpg"
	"github.com/todoctl/todoctl/pkg/pgtest"
)

// child stands for the tests of a test binary that ends in one way or another.
type child struct{ end string }

// Run starts a server, tells about it on stdout, and ends.
func (c child) Run() int {
	url, _, err := pgtest.DatabaseURL()
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	dir, err := homeOf(url)
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	s, err := localpg.Attach(context.Background(), localpg.Options{DataDir: filepath.Join(dir, "data")})
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println(s.PID(), pgtest.WatcherPID(), dir)
	switch c.end {
	case "panic":
		panic("a test panics")
	case "exit":
		os.Exit(3)
	case "wait":
		time.Sleep(time.Hour)
	}
	return 0
}

// homeOf returns the directory of the server that a URL leads to.
func homeOf(url string) (string, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return "", err
	}
	return filepath.Dir(cfg.Host), nil
}

// running reports whether a process is there and has not ended.
func running(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return unix.Kill(pid, 0) == nil && !isLinux()
	}
	_, state, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(state, "Z")
}

func isLinux() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}

type started struct {
	*exec.Cmd
	pid, watcher int
	dir          string
}

// begin runs this binary as a child with the given end, until it has started its server.
func begin(t *testing.T, end string, env ...string) *started {
	t.Helper()
	c := &started{Cmd: exec.Command(os.Args[0])}
	c.Env = append(append(os.Environ(), "PGTEST_END="+end), env...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	if _, err := fmt.Sscan(line, &c.pid, &c.watcher, &c.dir); err != nil {
		_ = c.Wait()
		t.Fatalf("the child says %q: %v", line, err)
	}
	return c
}

// wantNothingLeft waits for the watcher to do its work, which it begins when the child has ended.
func (c *started) wantNothingLeft(t *testing.T) {
	t.Helper()
	gone := func() bool {
		_, err := os.Stat(c.dir)
		return os.IsNotExist(err) && !running(c.pid)
	}
	for end := time.Now().Add(time.Minute); !gone(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("left behind: %s, or process %d", c.dir, c.pid)
		}
	}
}

func TestNothingOutlivesTheBinary(t *testing.T) {
	for _, end := range []string{"return", "exit", "panic"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			c := begin(t, end)
			if err := c.Wait(); (err == nil) != (end == "return") {
				t.Errorf("the child ended with %v", err)
			}
			c.wantNothingLeft(t)
		})
	}
	// A terminal sends SIGINT to the whole group; go test -timeout sends SIGQUIT, at last SIGKILL.
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGKILL} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			c := begin(t, "wait")
			if !running(c.pid) {
				t.Error("the server does not run")
			}
			if err := syscall.Kill(-c.Process.Pid, sig); err != nil {
				t.Fatal(err)
			}
			if err := c.Wait(); err == nil {
				t.Error("the signal had no effect")
			}
			c.wantNothingLeft(t)
		})
	}
}

// When the binary returns in order, the server is gone before it, not a moment later.
func TestMainStopsTheServerItself(t *testing.T) {
	c := begin(t, "return")
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(c.dir); !os.IsNotExist(err) || running(c.pid) {
		t.Errorf("left to the watcher: %s, process %d", c.dir, c.pid)
	}
}

// Whoever kills everything that has the name of a test, watchers included, is cleaned up after by
// the next test binary.
func TestSweepAfterTheWatcherWasKilledToo(t *testing.T) {
	c := begin(t, "wait")
	if err := syscall.Kill(c.watcher, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	next := begin(t, "return")
	if err := next.Wait(); err != nil {
		t.Error(err)
	}
	c.wantNothingLeft(t) // another package's tests may have been the first to sweep
}

// Several packages are tested at once, at first without a cache: one runs initdb, the others wait.
func TestBinariesThatStartAtOnce(t *testing.T) {
	tmp, err := os.MkdirTemp("/tmp", "pgtest-at-once-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	children := make([]*started, 3)
	var wg sync.WaitGroup
	for i := range children {
		wg.Go(func() { children[i] = begin(t, "return", "TMPDIR="+tmp, "XDG_CACHE_HOME="+tmp, "HOME="+tmp) })
	}
	wg.Wait()
	for _, c := range children {
		if c == nil {
			continue // begin has said why
		}
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
		c.wantNothingLeft(t)
	}
	made, err := filepath.Glob(filepath.Join(tmp, "*", "initdb-*", "PG_VERSION"))
	if err != nil || len(made) != 1 {
		t.Errorf("data directories in the cache: %v %v", made, err)
	}
	logs, _ := filepath.Glob(filepath.Join(tmp, "*", ".*.new-*"))
	if len(logs) != 0 {
		t.Errorf("unfinished: %v", logs)
	}
}

func TestServersDoNotShareData(t *testing.T) {
	a, b := pgtest.Options(t), pgtest.Options(t)
	if a.DataDir == b.DataDir {
		t.Fatal("one directory for two")
	}
	s, err := localpg.Start(context.Background(), a)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := localpg.Attach(context.Background(), b); err == nil {
		t.Errorf("the server %d answers for both", s.PID())
	}
}
