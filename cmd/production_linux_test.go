package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

// production returns a cli whose profile prod names the database and is one of production; staging is the same without that.
func production(t *testing.T) (*cli, *pgx.Conn) {
	t.Helper()
	url := pgtest.Database(t)
	c := newCLIOn(t, url)
	path := filepath.Join(c.dir, "profiles.yaml")
	yaml := fmt.Sprintf("default_profile: prod\nprofiles:\n  - {name: prod, database_url: %q, production: true}\n  - {name: staging, database_url: %q}\n", url, url)
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	c.env = slices.DeleteFunc(c.env, func(kv string) bool { return strings.HasPrefix(kv, "TODOCTL_DATABASE_URL=") })
	return c.with("TODOCTL_CONFIG=" + path), pgtest.Connect(t, url)
}

// Off a terminal every operator's verb needs --yes in production, also those that name what they change; workers' verbs do not.
func TestProductionNeedsYes(t *testing.T) {
	t.Parallel()
	c, conn := production(t)
	id := c.ok("enqueue", "-q", "mail", "1")
	claim := func() string { return c.ok("claim", "-q", "mail", "-o", "receipt") }
	receipt := claim()
	c.ok("heartbeat", receipt)
	c.ok("release", receipt)
	c.ok("fail", claim(), "--error", "x", "--dead")
	c.ok("reap")
	everything := func() string {
		return pgValue[string](t, conn, `SELECT coalesce((SELECT string_agg(t::text, '') FROM todos t), '') || (SELECT string_agg(q::text, '') FROM queues q)
			|| (SELECT count(*) FROM todo_journal)`)
	}
	before := everything()
	for _, line := range []string{"retry " + id, "retry --all", "bury " + id, "bump " + id + " --front", "dead-letters purge --all", "prune --all", "pause mail", "resume mail",
		"fail " + id + " --force", "release " + id + " --force", "undo op_1", "migrate down --all"} {
		r := c.fails(2, strings.Fields(line)...)
		if !strings.Contains(r.err, "profile prod is production") || !strings.Contains(r.err, "--yes") || r.out != "" {
			t.Errorf("%s: %s%s", line, r.out, r.err)
		}
	}
	if everything() != before {
		t.Error("something changed")
	}
	c.ok("retry", id, "--dry-run")
	c.ok("retry", id, "--yes", "--quiet")
	c.ok("bury", id, "--profile", "staging", "--quiet")
	c.ok("pause", "mail", "--yes")
}

// At a terminal it asks by the name of the profile, shows what it is about to work on, and takes nothing else for a yes.
func TestTerminalProduction(t *testing.T) {
	t.Parallel()
	c, conn := production(t)
	id := c.ok("enqueue", "-q", "mail", "1")
	state := func() string { return pgValue[string](t, conn, "SELECT state FROM todos") }
	for _, typed := range []string{"y\n", "yes\n", "Prod\n", "\n"} {
		s := c.sit("bury", id)
		s.until("type prod to do it: ")
		database := pgValue[string](t, conn, "SELECT current_database()")
		if !strings.HasPrefix(s.shown, "note: bury on profile prod, ") || !strings.Contains(s.shown, "/"+database+"\n") ||
			!strings.HasSuffix(s.shown, "\nbury 1 todos? this is production: type prod to do it: ") {
			t.Errorf("%q", s.shown)
		}
		s.answer(typed, "exit status 2")
		if state() != "pending" {
			t.Fatalf("%q was taken for a yes", typed)
		}
	}
	s := c.sit("bury", id)
	s.until("to do it: ")
	s.answer("prod\n", "exit status 0")
	if state() != "failed" {
		t.Error("it was not done")
	}
	// By filter it is the same question, once. With --yes it shows the target and asks nothing; with --quiet not even that.
	s = c.sit("retry", "-q", "mail")
	s.until("retry 1 todos? this is production: type prod to do it: ")
	s.answer("prod\n", "exit status 0")
	if n := strings.Count(s.shown, "this is production"); n != 1 {
		t.Errorf("it asked %d times", n)
	}
	s = c.sit("pause", "mail", "--yes")
	s.answer("", "exit status 0")
	if !strings.HasPrefix(s.shown, "note: pause on profile prod, ") || strings.Contains(s.shown, "type prod") {
		t.Errorf("with --yes: %q", s.shown)
	}
	s = c.sit("resume", "mail", "--yes", "--quiet")
	s.answer("", "exit status 0")
	if s.shown != "" {
		t.Errorf("quietly: %q", s.shown)
	}
	s = c.sit("resume", "mail", "--profile", "staging")
	s.answer("", "exit status 0")
	if !strings.HasPrefix(s.shown, "note: resume on profile staging, ") {
		t.Errorf("another profile: %q", s.shown)
	}
	if r := c.run("resume", "mail", "--yes"); r.err != "" {
		t.Errorf("off a terminal: %q", r.err)
	}
}
