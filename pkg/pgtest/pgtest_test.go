//go:build unix

package pgtest_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/todoctl/todoctl/pkg/localpg"
	"github.com/todoctl/todoctl/pkg/pgtest"
)

// TestMain runs the tests, or in a process that a test started, the end that it wants to see.
func TestMain(m *testing.M) {
	if end := os.Getenv("PGTEST_END"); end != "" {
		os.Exit(pgtest.Main(child{end}))
	}
	os.Exit(pgtest.Main(m))
}

func value[T any](t *testing.T, url, sql string) T {
	t.Helper()
	var v T
	if err := pgtest.Connect(t, url).QueryRow(context.Background(), sql).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func TestDatabasesAreMigratedAndFresh(t *testing.T) {
	for i := range 6 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			conn := pgtest.Connect(t, pgtest.Database(t))
			var n int
			if err := conn.QueryRow(context.Background(), "SELECT count(*) FROM todos").Scan(&n); err != nil {
				t.Fatal(err)
			}
			if n != 0 {
				t.Errorf("a fresh database has %d todos", n)
			}
			if _, err := conn.Exec(context.Background(), "INSERT INTO todos (queue) VALUES ('q')"); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestEmptyDatabaseHasNoTable(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	if n := value[int](t, url, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"); n != 0 {
		t.Errorf("an empty database has %d relations", n)
	}
}

func TestDatabaseIsDroppedWithItsSessions(t *testing.T) {
	var name string
	t.Run("user", func(t *testing.T) {
		url := pgtest.Database(t)
		name = value[string](t, url, "SELECT current_database()")
		other, drop, err := pgtest.EmptyDatabaseURL()
		if err != nil {
			t.Fatal(err)
		}
		conn := pgtest.Connect(t, other) // still open when its database is dropped
		drop()
		if err := conn.Ping(context.Background()); err == nil {
			t.Error("a database with a session in it was not dropped")
		}
	})
	url := pgtest.Server(t).URL("postgres")
	if n := value[int](t, url, "SELECT count(*) FROM pg_database WHERE datname = '"+name+"'"); n != 0 {
		t.Errorf("%s is still there", name)
	}
}

func TestServerIsMadeForTests(t *testing.T) {
	url := pgtest.Server(t).URL("postgres")
	for setting, want := range map[string]string{"max_connections": "200", "fsync": "off", "listen_addresses": ""} {
		if got := value[string](t, url, "SELECT current_setting('"+setting+"')"); got != want {
			t.Errorf("%s is %q, want %q", setting, got, want)
		}
	}
}

func TestServerOfOneTest(t *testing.T) {
	var pid int
	t.Run("owner", func(t *testing.T) {
		s := pgtest.NewServer(t, func(o *localpg.Options) { o.Settings = map[string]string{"max_connections": "7"} })
		if s.PID() == pgtest.Server(t).PID() {
			t.Error("it is the server of all")
		}
		if got := value[string](t, s.URL("todoctl"), "SHOW max_connections"); got != "7" {
			t.Errorf("max_connections is %s", got)
		}
		pid = s.PID()
	})
	if running(pid) {
		t.Errorf("process %d outlives its test", pid)
	}
}

func TestDirIsRemovedWithServersInIt(t *testing.T) {
	var dir string
	var pid int
	t.Run("owner", func(t *testing.T) {
		dir = pgtest.Dir(t)
		o := pgtest.Options(t)
		s, err := localpg.Start(context.Background(), localpg.Options{
			DataDir: dir + "/deep/down/data", SocketDir: dir + "/s", Seed: o.DataDir, Getenv: os.Getenv})
		if err != nil {
			t.Fatal(err)
		}
		pid = s.PID()
	})
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", dir, err)
	}
	if running(pid) {
		t.Errorf("process %d outlives its test", pid)
	}
}
