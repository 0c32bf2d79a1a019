package cmd_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/localpg"
	"github.com/todoctl/todoctl/pkg/pgtest"
)

// says asserts that what went to stderr holds each of these.
func (o outcome) says(t *testing.T, words ...string) outcome {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(o.err, w) {
			t.Errorf("stderr does not say %q:\n%s", w, o.err)
		}
	}
	return o
}

// tableNames lists the tables of a database beside the server's own.
func tableNames(t *testing.T, url string) string {
	t.Helper()
	var names string
	err := pgtest.Connect(t, url).QueryRow(t.Context(), `SELECT coalesce(string_agg(schemaname || '.' || tablename, ' ' ORDER BY schemaname, tablename), '')
		FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`).Scan(&names)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// execSQL runs statements on a database.
func execSQL(t *testing.T, url string, statements ...string) {
	t.Helper()
	conn := pgtest.Connect(t, url)
	for _, s := range statements {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// loginRole makes a role that may log in and nothing else, with these settings, and drops it when the
// test ends.
func loginRole(t *testing.T, database string, settings ...string) string {
	t.Helper()
	conn := pgtest.Connect(t, database)
	var role string
	if err := conn.QueryRow(t.Context(), "SELECT 'app_' || replace(gen_random_uuid()::text, '-', '')").Scan(&role); err != nil {
		t.Fatal(err)
	}
	execSQL(t, database, "CREATE ROLE "+role+" LOGIN")
	for _, s := range settings {
		execSQL(t, database, "ALTER ROLE "+role+" SET "+s)
	}
	t.Cleanup(func() {
		conn := pgtest.Connect(t, database)
		if _, err := conn.Exec(context.WithoutCancel(t.Context()), "DROP OWNED BY "+role+" CASCADE; DROP ROLE "+role); err != nil {
			t.Errorf("drop role: %v", err)
		}
	})
	return role
}

// asRole returns the URL for another role.
func asRole(t *testing.T, database, role string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}

// asKeys returns the URL with further keys.
func asKeys(t *testing.T, database string, pairs ...string) string {
	t.Helper()
	u, err := url.Parse(database)
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

// pgProgram returns the path of one of PostgreSQL's own programs.
func pgProgram(t *testing.T, name string) string {
	t.Helper()
	bin, err := localpg.Find(t.Context(), localpg.Options{Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(bin.Dir, name)
}
