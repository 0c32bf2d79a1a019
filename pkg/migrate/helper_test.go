package migrate_test

import (
	"bytes"
	"errors"
	"flag"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/localpg"
	"github.com/todoctl/todoctl/pkg/migrate"
	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/todo"
)

func TestMain(m *testing.M) {
	flag.Bool("update", false, "write db/schema.sql")
	os.Exit(pgtest.Main(m))
}

// migrator makes a Migrator on url whose notes are collected.
func migrator(t *testing.T, url, schema string) (*migrate.Migrator, *notes) {
	t.Helper()
	cfg, err := dbconn.ParseConfig(dbconn.Options{URL: url, Schema: schema, AppName: "todoctl migrate"})
	if err != nil {
		t.Fatal(err)
	}
	var n notes
	return migrate.New(cfg, schema, n.add), &n
}

// migrated returns the URL of a database that Up has been run on.
func migrated(t *testing.T) string {
	t.Helper()
	url := pgtest.EmptyDatabase(t)
	m, _ := migrator(t, url, "")
	if _, err := m.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	return url
}

type notes struct {
	mu    sync.Mutex
	lines []string
	seen  chan string // where set, each note goes here too
}

func (n *notes) add(line string) {
	n.mu.Lock()
	n.lines = append(n.lines, line)
	n.mu.Unlock()
	if n.seen != nil {
		n.seen <- line
	}
}

func (n *notes) text() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.lines, "\n")
}

// run executes a statement that must succeed.
func run(t *testing.T, c *pgx.Conn, sql string) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql); err != nil {
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

// relations lists the tables of a database, "schema.name" by name.
const relations = `SELECT coalesce(string_agg(n.nspname || '.' || c.relname, ' ' ORDER BY n.nspname, c.relname), '')
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind = 'r' AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'`

// refused asserts the code of err, and that message and hint hold what an operator must read.
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

// program returns the path of one of the server's own client programs.
func program(t *testing.T, name string) string {
	t.Helper()
	bin, err := localpg.Find(t.Context(), localpg.Options{Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(bin.Dir, name)
}

// psql runs a script as a DBA would.
func psql(t *testing.T, url, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t, "psql"), "-X", "-q", "-d", url, "-f", "-")
	cmd.Stdin = strings.NewReader(script)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("psql: %v\n%s", err, out)
	}
}

// dump returns the schema of a database without what differs from one server or run to the next:
// comments, settings and the marks of the dump itself.
func dump(t *testing.T, url string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program(t, "pg_dump"), "--schema-only", "--no-owner", "--no-privileges", "-d", url)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pg_dump: %v\n%s", err, stderr.String())
	}
	noise := regexp.MustCompile(`(?m)^(--.*|SET .*|SELECT pg_catalog\.set_config.*|\\(un)?restrict .*)\n`)
	gaps := regexp.MustCompile(`\n{3,}`)
	return strings.TrimSpace(gaps.ReplaceAllString(noise.ReplaceAllString(string(out), ""), "\n\n")) + "\n"
}

// ownRole makes a role that may log in and nothing else, and drops it when the test ends.
func ownRole(t *testing.T, database string) string {
	t.Helper()
	c := pgtest.Connect(t, database)
	role := "app_" + strings.ReplaceAll(text(t, c, "SELECT gen_random_uuid()::text"), "-", "")
	run(t, c, "CREATE ROLE "+role+" LOGIN")
	// The role is cluster-wide, its database is not: it goes as soon as nothing is its own.
	t.Cleanup(func() {
		admin := pgtest.Connect(t, database)
		if _, err := admin.Exec(t.Context(), "DROP OWNED BY "+role+" CASCADE; DROP ROLE "+role); err != nil && t.Context().Err() == nil {
			t.Errorf("drop role: %v", err)
		}
	})
	return role
}

// withUser returns the URL for another role.
func withUser(t *testing.T, s, role string) string {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}
