package dbconn_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/todo"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// refused asserts the code of err, and that its message and hint hold what a user must read.
func refused(t *testing.T, err error, code todo.Code, words ...string) {
	t.Helper()
	var e *todo.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a %s error", err, code)
	}
	if e.Code != code {
		t.Errorf("code %s, want %s: %s", e.Code, code, e.Message)
	}
	for _, w := range words {
		if !strings.Contains(e.Message+"\n"+e.Hint, w) {
			t.Errorf("%q with hint %q does not say %q", e.Message, e.Hint, w)
		}
	}
	if strings.Contains(e.Message+e.Hint, "\n") {
		t.Errorf("more than one line: %q, %q", e.Message, e.Hint)
	}
}

// connect connects as the product does.
func connect(t *testing.T, o dbconn.Options) *pgx.Conn {
	t.Helper()
	conn, err := dbconn.Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dbconn.Close(conn) })
	return conn
}

func run(t *testing.T, c *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func text(t *testing.T, c *pgx.Conn, sql string, args ...any) string {
	t.Helper()
	var s string
	if err := c.QueryRow(t.Context(), sql, args...).Scan(&s); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return s
}

// with returns a URL with further query keys.
func with(t *testing.T, s string, pairs ...string) string {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20") // as libpq reads it
	return u.String()
}

// withUser returns a URL for another role.
func withUser(t *testing.T, s, role string) string {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}

// ownRole makes a role that may log in and nothing else, with the given settings, and drops it when
// the test ends.
func ownRole(t *testing.T, database string, settings ...string) string {
	t.Helper()
	c := pgtest.Connect(t, database)
	role := "app_" + strings.ReplaceAll(text(t, c, "SELECT gen_random_uuid()::text"), "-", "")
	run(t, c, "CREATE ROLE "+role+" LOGIN")
	for _, s := range settings {
		run(t, c, "ALTER ROLE "+role+" SET "+s)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		admin, err := pgx.Connect(ctx, database)
		if err != nil {
			t.Error(err)
			return
		}
		defer dbconn.Close(admin)
		if _, err := admin.Exec(ctx, "DROP OWNED BY "+role+" CASCADE; DROP ROLE "+role); err != nil {
			t.Errorf("drop role: %v", err)
		}
	})
	return role
}

// file writes content into a new file and returns its path.
func file(t *testing.T, name string, content []byte, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
	return path
}
