//go:build unix

package localpg_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/todoctl/todoctl/pkg/localpg"
	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/todo"
)

// The life of a user's server: made by initdb, durable, started, found again, stopped, and the
// data is still there.
func TestLifecycle(t *testing.T) {
	o := options(t)
	o.Durable = true
	wantState(t, o, localpg.StateStopped)
	_, err := localpg.Attach(deadline(t), o)
	wantError(t, err, todo.CodeUnavailable, "does not run", "todoctl local start")

	s := start(t, o)
	if s.Attached() {
		t.Error("a server that was just started counts as found")
	}
	url := s.URL(localpg.Database)
	if got := query(t, url, "SELECT current_database()"); got != "todoctl" {
		t.Errorf("the database is %q", got)
	}
	if got := psql(t, url, "SELECT current_user"); got != "postgres" {
		t.Errorf("psql connects as %q", got)
	}
	for setting, want := range map[string]string{
		"listen_addresses": "", "fsync": "on", "server_encoding": "UTF8", "timezone": "UTC",
		"unix_socket_permissions": "0700", "data_directory_mode": "0700",
	} {
		if got := query(t, url, "SELECT current_setting('"+setting+"')"); got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
	for _, dir := range []string{s.DataDir(), s.SocketDir()} {
		if fi, err := os.Stat(dir); err != nil || fi.Mode().Perm() != 0o700 {
			t.Errorf("%s is open to others: %v %v", dir, fi.Mode(), err)
		}
	}
	execute(t, url, "CREATE TABLE kept (n int)")

	st := wantState(t, o, localpg.StateRunning)
	if st.PID == nil || *st.PID != s.PID() || st.URL == nil || *st.URL != url || st.StartedAt == nil || st.Version == nil {
		t.Errorf("status lacks something: %+v", st)
	}
	again := start(t, o)
	if !again.Attached() || again.PID() != s.PID() || again.URL("x") != s.URL("x") {
		t.Errorf("the second start did not find the first: %d and %d", again.PID(), s.PID())
	}
	found, err := localpg.Attach(deadline(t), o)
	if err != nil || found.PID() != s.PID() {
		t.Fatalf("attach: %v", err)
	}
	stop(t, found)
	stop(t, found)
	stop(t, s)
	if st := wantState(t, o, localpg.StateStopped); st.PID != nil || st.URL != nil || st.Version == nil {
		t.Errorf("status of a stopped server: %+v", st)
	}
	s = start(t, o)
	if got := query(t, s.URL(localpg.Database), "SELECT count(*)::text FROM kept"); got != "0" {
		t.Errorf("the table was not kept: %s", got)
	}
	stop(t, s)
}

// Stop ends sessions that are open; it does not wait for them.
func TestStopWithOpenSession(t *testing.T) {
	s := start(t, pgtest.Options(t))
	execute(t, s.URL(localpg.Database), "BEGIN")
	stop(t, s)
}

func TestStartsAtOnceMeetInOneServer(t *testing.T) {
	o := options(t)
	var wg sync.WaitGroup
	pids := make([]int, 6)
	for i := range pids {
		wg.Go(func() {
			s, err := localpg.Start(context.Background(), o)
			if err != nil {
				t.Errorf("start %d: %v", i, err)
				return
			}
			pids[i] = s.PID()
		})
	}
	wg.Wait()
	for _, pid := range pids {
		if pid != pids[0] {
			t.Errorf("several servers: %v", pids)
		}
	}
}

func TestStartThatIsGivenUpLeavesNothing(t *testing.T) {
	o := options(t)
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := localpg.Start(gone, o)
	wantError(t, err, todo.CodeInterrupted)
	if _, err := os.Stat(o.DataDir); !os.IsNotExist(err) {
		t.Errorf("a data directory was left: %v", err)
	}
	left, err := os.ReadDir(filepath.Dir(o.DataDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if e.IsDir() {
			t.Errorf("%s was left", e.Name())
		}
	}
	start(t, o)
}

// Ctrl-C in the shell that started it must not reach the server, nor may a secret of that shell.
func TestServerIsOutOfReachOfTheShell(t *testing.T) {
	t.Setenv("PGPASSWORD", "s3cret-of-the-shell")
	s := start(t, pgtest.Options(t))
	if sid, err := unix.Getsid(s.PID()); err != nil || sid != s.PID() {
		t.Errorf("the server is in session %d, not its own: %v", sid, err)
	}
	fi, err := os.Stat(s.DataDir())
	if err != nil {
		t.Fatal(err)
	}
	if uid := fi.Sys().(*syscall.Stat_t).Uid; uid == 0 {
		t.Error("the data belongs to root")
	}
	execute(t, s.URL("postgres"), "CREATE TABLE env (line text)")
	// The server's own children inherit its environment; it shows us one.
	execute(t, s.URL("postgres"), "COPY env FROM PROGRAM 'env'")
	got := query(t, s.URL("postgres"), "SELECT string_agg(line, ' ') FROM env")
	if want := "s3cret"; strings.Contains(got, want) {
		t.Errorf("the server knows a variable of the shell: %s", got)
	}
	execute(t, s.URL("postgres"), "CREATE TABLE who (line text)")
	execute(t, s.URL("postgres"), "COPY who FROM PROGRAM 'id -G'")
	groups := query(t, s.URL("postgres"), "SELECT line FROM who")
	if os.Geteuid() == 0 && strings.Contains(groups, " ") {
		t.Errorf("the server kept supplementary groups: %s", groups)
	}
}

func TestSocketPaths(t *testing.T) {
	for _, name := range []string{"a b", "q+%41&x=y", `"quoted" 'too'`, "ümlaut"} {
		o := pgtest.Options(t)
		o.SocketDir = filepath.Join(filepath.Dir(o.DataDir), name)
		s := start(t, o)
		if got := query(t, s.URL("todoctl"), "SELECT 'pgx'"); got != "pgx" {
			t.Errorf("%s: %s", name, got)
		}
		if got := psql(t, s.URL("todoctl"), "SELECT 'libpq'"); got != "libpq" {
			t.Errorf("%s: %s", name, got)
		}
		found, err := localpg.Attach(deadline(t), o)
		if err != nil {
			t.Fatal(err)
		}
		stop(t, found)
	}
}

// The longest path that passes the check works with the kernel, PostgreSQL, pgx and libpq.
func TestLongestSocketPath(t *testing.T) {
	o := pgtest.Options(t)
	most := 103
	if runtime.GOOS == "linux" {
		most = 107
	}
	dir := filepath.Dir(o.DataDir) + "/"
	for len(dir)+len("/.s.PGSQL.5432") < most {
		dir += "d"
	}
	o.SocketDir = dir
	s := start(t, o)
	if got := query(t, s.URL("todoctl"), "SELECT 'pgx'"); got != "pgx" {
		t.Error(got)
	}
	psql(t, s.URL("todoctl"), "SELECT 1")
	stop(t, s)
	o.SocketDir += "d"
	_, err := localpg.Start(deadline(t), o)
	wantError(t, err, todo.CodeUsage, "too long")
}
