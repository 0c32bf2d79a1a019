// Package pgtest gives tests a real PostgreSQL: one private server for each test binary, started
// when the first test asks for it, and a fresh database for each test.
//
// Nothing outlives the test binary, however it ends: a watcher process holds the other end of a
// pipe, and when that closes (return, panic, os.Exit, SIGINT, kill -9) it stops the server and
// removes its directory.
package pgtest

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/localpg"
)

// Runner is *testing.M, or what wraps one.
type Runner interface{ Run() int }

// Main runs the tests and then stops the server, if one was started. Use it as
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
// Without it the watcher stops the server a moment after the binary has ended.
func Main(m Runner) int {
	code := m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stop PostgreSQL for tests:", err)
		code = max(code, 1)
	}
	return code
}

// Server returns the running server of this test binary.
func Server(t testing.TB) *localpg.Server {
	t.Helper()
	s, err := shared.get()
	if err != nil {
		t.Fatalf("start PostgreSQL for tests: %v", err)
	}
	return s
}

// NewServer starts a server for one test alone, which may set what it likes, stop it and kill it.
// tune may be nil; it changes the options before the start.
func NewServer(t testing.TB, tune func(*localpg.Options)) *localpg.Server {
	t.Helper()
	o := Options(t)
	if tune != nil {
		tune(&o)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s, err := localpg.Start(ctx, o)
	if err != nil {
		t.Fatalf("start PostgreSQL for the test: %v", err)
	}
	return s
}

// Options returns the options of a server for one test alone. Its data directory exists, and it
// does not run yet. What runs on it when the test ends is stopped.
func Options(t testing.TB) localpg.Options {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	o, err := prepare(ctx, newTestHome(t))
	if err != nil {
		t.Fatalf("make a data directory for the test: %v", err)
	}
	return o
}

// Dir returns a directory that is removed when the test ends. Other than t.TempDir it can be
// entered by the user that PostgreSQL runs as under root, and a server that is still running on
// data below it is stopped first, also when the test binary is killed.
func Dir(t testing.TB) string {
	t.Helper()
	return newTestHome(t).dir
}

func newTestHome(t testing.TB) *home {
	t.Helper()
	h, err := newHome()
	if err != nil {
		t.Fatalf("make a directory for the test: %v", err)
	}
	t.Cleanup(func() {
		if err := h.remove(); err != nil {
			t.Errorf("clean up after the test: %v", err)
		}
	})
	return h
}

// Database returns the URL of a fresh migrated database, which is dropped when the test ends.
func Database(t testing.TB) string {
	t.Helper()
	return named(t, DatabaseURL)
}

// EmptyDatabase returns the URL of a fresh database without a table.
func EmptyDatabase(t testing.TB) string {
	t.Helper()
	return named(t, EmptyDatabaseURL)
}

func named(t testing.TB, create func() (string, func(), error)) string {
	t.Helper()
	url, drop, err := create()
	if err != nil {
		t.Fatalf("make a database for the test: %v", err)
	}
	t.Cleanup(drop)
	return url
}

// DatabaseURL is Database for code without a testing.TB, such as the set-up of a testscript. Call
// the function that it returns to drop the database.
func DatabaseURL() (string, func(), error) {
	if err := shared.migrate(); err != nil {
		return "", nil, err
	}
	return shared.create(template)
}

// EmptyDatabaseURL is EmptyDatabase for code without a testing.TB.
func EmptyDatabaseURL() (string, func(), error) { return shared.create("template0") }

// Connect returns a connection that is closed when the test ends. It does not cache statements,
// so that tests may change the schema under it.
func Connect(t testing.TB, url string) *pgx.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := connect(ctx, url)
	if err != nil {
		t.Fatalf("connect to the test database: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = conn.Close(ctx) // the test may have killed the connection
	})
	return conn
}

func connect(ctx context.Context, url string) (*pgx.Conn, error) {
	cfg, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	return pgx.ConnectConfig(ctx, cfg)
}
