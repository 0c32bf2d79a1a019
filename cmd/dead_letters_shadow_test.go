//go:build unix

package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// deadTodos makes n dead letters of a queue and returns what is stored of all rows.
func deadTodos(t *testing.T, c *cli, conn *pgx.Conn, n int) (state func() string) {
	t.Helper()
	pgExec(t, conn, `INSERT INTO todos (id, queue, kind, payload, state, error, fingerprint, completed_at, attempt, lease_seq, owner)
		SELECT 'td_' || i, 'mail', 'welcome', jsonb_build_object('i', i, 'big', 12345678901234567890.10), 'failed', 'timeout after ' || i || ' s', 'a41f', now(), 5, 7, 'old'
		  FROM generate_series(1, $1::int) i`, n)
	return func() string {
		return pgValue[string](t, conn, `SELECT md5(string_agg(x, ',' ORDER BY x)) FROM (SELECT t.ctid::text || t.xmin::text || t::text AS x FROM todos t
			UNION ALL SELECT a::text FROM todo_attempts a UNION ALL SELECT q::text FROM queues q) r`)
	}
}

// TestShadow tries a handler on dead payloads: the same environment and input as from work, told that it
// is only tried; some pass and some fail, and no row changes.
func TestShadow(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	state := deadTodos(t, c, conn, 9)
	was := state()
	script := filepath.Join(c.dir, "send.sh")
	if err := os.WriteFile(script, []byte(`#!/bin/sh
read -r payload
echo "$TODO_ID $TODO_RECEIPT $TODO_SHADOW $TODO_QUEUE $TODO_KIND $TODO_OWNER $TODO_ATTEMPT/$TODO_MAX_ATTEMPTS ${TODO_DEADLINE:?} ${TODOCTL_DATABASE_URL-none} $payload" >>log
case $TODO_ID in td_3) echo 'no such host' >&2; exit 1 ;; td_4) echo '{"error":"said so"}' >&3; exit 65 ;; td_5) kill -9 $$ ;; td_6) exit 99 ;; esac
`), 0o700); err != nil {
		t.Fatal(err)
	}
	r := c.run("dead-letters", "test", "--fp", "a41f", "-c", "3", "-o", "json", "--", script)
	if r.code != 7 || !strings.Contains(r.err, "4 of 9 failed") {
		t.Fatalf("exit %d %s%s", r.code, r.out, r.err)
	}
	type result struct {
		Tested, Passed, Failed, Moved int
		Op                            string
		Results                       []struct {
			ID, Outcome, Error string
			Passed             bool
		}
	}
	got := decode[result](t, r.out)
	if got.Op != "test" || got.Tested != 9 || got.Passed != 5 || got.Failed != 4 || got.Moved != 0 || len(got.Results) != 9 {
		t.Errorf("%+v", got)
	}
	want := map[string]string{"td_3": "failed exit 1: no such host", "td_4": "dead said so", "td_5": "crashed ", "td_6": "released exit 99"}
	for _, x := range got.Results {
		if w := want[x.ID]; x.Passed != (w == "") || !strings.HasPrefix(x.Outcome+" "+x.Error, w) {
			t.Errorf("%+v, want %q", x, w)
		}
	}
	log, err := os.ReadFile(filepath.Join(c.dir, "log"))
	if err != nil || !strings.Contains(string(log), "td_1 td_1@7 1 mail welcome w 1/5 ") || !strings.Contains(string(log), ` none {"i": 1, "big": 12345678901234567890.10}`) {
		t.Errorf("the handler saw %s %v", log, err)
	}
	if state() != was {
		t.Error("rows changed")
	}
}

// TestShadowSamples takes so many, whichever, and prints a row for each.
func TestShadowSamples(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	state := deadTodos(t, c, conn, 200)
	was := state()
	seen := map[string]bool{}
	for range 3 {
		lines := strings.Split(c.ok("dead-letters", "test", "-q", "mail", "--sample", "5", "-c", "5", "--", "true"), "\n")
		if len(lines) != 5 || !strings.HasPrefix(lines[0], "td_") || !strings.Contains(lines[0], "\tdone\tmail\twelcome\t") {
			t.Fatalf("%q", lines)
		}
		for _, line := range lines {
			seen[line[:strings.Index(line, "\t")]] = true
		}
	}
	if len(seen) < 7 {
		t.Errorf("three samples of five of 200 held only %d", len(seen))
	}
	if got := c.ok("dead-letters", "test", "-q", "none", "-o", "json", "--jq", ".tested", "--", "false"); got != "0" {
		t.Errorf("of none: %s", got)
	}
	c.fails(7, "dead-letters", "test", "--sample", "2", "--run-timeout", "100ms", "--grace", "100ms", "--", "sleep", "60")
	c.fails(127, "dead-letters", "test", "--", "./missing")
	c.fails(2, "dead-letters", "test", "--sample", "0", "--", "true")
	c.fails(2, "dead-letters", "test")
	if state() != was {
		t.Error("rows changed")
	}
}

// TestShadowHoldsNothing looks at the server while a command runs: no transaction and no lock; a todo that
// moves meanwhile is left out, and a signal ends command and test.
func TestShadowHoldsNothing(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	deadTodos(t, c, conn, 2)
	gate := filepath.Join(c.dir, "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	p := c.start("todoctl", "dead-letters", "test", "-o", "json", "--", "sh", "-c", "echo started >&2; cat "+gate)
	waitUntil(t, "the command", func() bool { return strings.Contains(p.errs.String(), "started") })
	mine := "application_name = 'todoctl dead-letters'"
	if got := pgValue[string](t, conn, "SELECT string_agg(state || ' ' || (xact_start IS NULL)::text, ',') FROM pg_stat_activity WHERE datname = current_database() AND "+mine); got != "idle true" {
		t.Errorf("its connection is %s", got)
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid) WHERE a.datname = current_database() AND a."+mine); n != 0 {
		t.Errorf("it holds %d locks", n)
	}
	c.ok("retry", "td_2")
	if err := os.WriteFile(gate, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	if r := p.end(); r.code != 0 || !strings.Contains(r.out, `"moved":1`) || !strings.Contains(r.out, `"tested":1`) {
		t.Errorf("exit %d %s%s", r.code, r.out, r.err)
	}
	p = c.start("todoctl", "dead-letters", "test", "--", "sh", "-c", "echo pid $$ >&2; exec sleep 300")
	waitUntil(t, "the command", func() bool { return strings.Contains(p.errs.String(), "pid ") })
	var pid int
	if _, err := fmt.Sscanf(p.errs.String(), "pid %d", &pid); err != nil {
		t.Fatal(err)
	}
	p.tell(syscall.SIGTERM)
	if r := p.end(); r.code != -1 {
		t.Errorf("exit %d %s, want death by the signal", r.code, r.err)
	}
	if syscall.Kill(pid, 0) == nil {
		t.Error("the command outlived the test")
	}
}
