package localpg_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/localpg"
	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/todo"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// options are those of a server whose data directory is still to be made. Where that does not
// matter, pgtest.Options is faster.
func options(t *testing.T) localpg.Options {
	t.Helper()
	dir := pgtest.Dir(t)
	return localpg.Options{
		DataDir:   filepath.Join(dir, "data"),
		SocketDir: filepath.Join(dir, "s"),
		Getenv:    os.Getenv,
	}
}

func start(t *testing.T, o localpg.Options) *localpg.Server {
	t.Helper()
	s, err := localpg.Start(deadline(t), o)
	if err != nil {
		t.Fatalf("start: %v %s", err, details(err))
	}
	return s
}

func stop(t *testing.T, s *localpg.Server) {
	t.Helper()
	if err := s.Stop(deadline(t)); err != nil {
		t.Fatalf("stop: %v", err)
	}
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func details(err error) string {
	var e *todo.Error
	if !errors.As(err, &e) {
		return ""
	}
	lines, _ := e.Details["log"].([]string)
	return strings.Join(lines, "\n")
}

func wantError(t *testing.T, err error, code todo.Code, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one of code %s", code)
	}
	if got := todo.CodeOf(err); got != code {
		t.Errorf("code %s, want %s: %v", got, code, err)
	}
	text := err.Error()
	var e *todo.Error
	if errors.As(err, &e) {
		text += "\n" + e.Hint
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("error does not say %q: %s", w, text)
		}
	}
}

func wantState(t *testing.T, o localpg.Options, want string) localpg.Status {
	t.Helper()
	st, err := o.Status()
	if err != nil {
		t.Fatal(err)
	}
	if st.State != want {
		t.Errorf("state %q, want %q", st.State, want)
	}
	return st
}

// query returns one value as text.
func query(t *testing.T, url, sql string) string {
	t.Helper()
	var s string
	if err := pgtest.Connect(t, url).QueryRow(deadline(t), sql).Scan(&s); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return s
}

func execute(t *testing.T, url, sql string) {
	t.Helper()
	if _, err := pgtest.Connect(t, url).Exec(deadline(t), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// psql asks by libpq, which reads URLs by other rules than pgx.
func psql(t *testing.T, url, sql string) string {
	t.Helper()
	out, err := exec.Command("psql", "-XAtc", sql, url).CombinedOutput()
	if err != nil {
		t.Fatalf("psql: %v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}
