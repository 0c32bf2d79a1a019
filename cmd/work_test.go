//go:build unix

package cmd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestThinPath takes one todo from enqueue to done by the commands alone.
func TestThinPath(t *testing.T) {
	c := newCLI(t)
	id := c.ok("enqueue", "-q", "mail", `{"n":1}`)
	receipt := c.ok("claim", "-q", "mail", "-o", "receipt")
	if receipt != id+"@1" {
		t.Fatalf("receipt %q of todo %q", receipt, id)
	}
	c.ok("complete", receipt)
	if got := c.ok("show", id, "--jq", ".state"); got != "done" {
		t.Fatalf("state %q", got)
	}
	c.fails(3, "claim", "-q", "mail")
}

// script writes an executable file into the cli's directory, which is where workers run.
func (c *cli) script(name, text string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o755); err != nil {
		c.t.Fatal(err)
	}
}

// file returns what stands in a file of the cli's directory; nothing when there is none.
func (c *cli) wrote(name string) string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil && !os.IsNotExist(err) {
		c.t.Fatal(err)
	}
	return string(text)
}

// drain runs a worker over queue q until nothing is claimable: flags, then -- and the command.
func (c *cli) drain(args ...string) outcome {
	c.t.Helper()
	return c.run(append([]string{"work", "-q", "q", "--drain"}, args...)...)
}

// made says whether a file is there.
func (c *cli) made(name string) bool {
	_, err := os.Stat(filepath.Join(c.dir, name))
	return err == nil
}

// row is a todo as it stands in the database, and its history in short: outcome and first line of the
// error for each lease that did not end in completion.
type row struct {
	ID, Condition        string
	Attempt, LeaseSeq    int
	Owner, Error, Result *string
	Delay, History       string // from the last change until it is due
	Progress             *int
	Lease                *time.Time
	Claimed              *time.Time
}

// rows returns the todos in the order in which they were enqueued.
func rows(t *testing.T, conn *pgx.Conn) []row {
	t.Helper()
	got, err := conn.Query(context.Background(), `SELECT id, CASE WHEN state = 'pending' AND run_at > now() THEN 'delayed'
		  WHEN state = 'claimed' AND lease_expires_at <= now() THEN 'expired'
		  WHEN state = 'failed' THEN CASE WHEN next_retry_at IS NULL THEN 'dead' ELSE 'retrying' END ELSE state END,
		attempt, lease_seq, owner, error, result::text, (run_at - updated_at)::text,
		coalesce((SELECT string_agg(outcome || coalesce(' ' || split_part(a.error, E'\n', 1), ''), '; ' ORDER BY a.lease_seq) FROM todo_attempts a WHERE todo_id = t.id), ''),
		progress, lease_expires_at, claimed_at
		FROM todos t ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(got, pgx.RowToStructByPos[row])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// titled enqueues a todo for each title, in order. Commands in these tests do what the title says.
func (c *cli) titled(titles ...string) {
	c.t.Helper()
	var lines strings.Builder
	for _, title := range titles {
		line, err := json.Marshal(map[string]any{"queue": "q", "title": title})
		if err != nil {
			c.t.Fatal(err)
		}
		lines.Write(append(line, '\n'))
	}
	if r := c.pipe(lines.String(), "enqueue", "--from", "-", "--quiet"); r.code != 0 {
		c.t.Fatalf("exit %d\n%s", r.code, r.err)
	}
}

// obey is a command that does what the title of its todo says.
func obey() []string { return []string{"--", "sh", "-c", `eval "$TODO_TITLE"`} }

// The command's end decides what becomes of the todo. Attempts are spent by failures and crashes alone.
func TestWorkEndOfTheCommandDecides(t *testing.T) {
	t.Parallel()
	type end struct {
		does, condition string
		attempt         int
		history         string
	}
	for _, x := range []struct {
		on   string
		exit int
		ends []end
	}{
		{"", 7, []end{
			{"exit 0", "done", 1, ""},
			{"exit 1", "retrying", 1, "failed exit 1"},
			{"exit 2", "retrying", 1, "failed exit 2"},
			{"exit 64", "retrying", 1, "failed exit 64"},
			{"exit 65", "dead", 1, "failed exit 65"},
			{"exit 75", "retrying", 1, "failed exit 75"},
			{"exit 78", "dead", 1, "failed exit 78"},
			{"exit 99", "delayed", 0, "released exit 99"},
			{"exit 100", "retrying", 1, "failed exit 100"},
			{"exit 137", "retrying", 1, "failed exit 137"}, // somebody else's signal, told by a shell
			{"exit 255", "retrying", 1, "failed exit 255"},
			{"kill -KILL $$", "retrying", 1, "expired signal 9 (killed)"},
			{"kill -TERM $$", "retrying", 1, "expired signal 15 (terminated)"},
			{"kill -SEGV $$", "retrying", 1, "expired signal 11 (segmentation fault)"},
		}},
		{"3=dead,4=release,5-9=dead,7=done,0=fail,127=fail,12=crash", 7, []end{
			{"exit 3", "dead", 1, "failed exit 3"},
			{"exit 4", "delayed", 0, "released exit 4"},
			{"exit 7", "done", 1, ""},
			{"exit 9", "dead", 1, "failed exit 9"},
			{"exit 0", "retrying", 1, "failed exit 0"},
			{"exit 127", "retrying", 1, "failed exit 127"},
			{"exit 12", "retrying", 1, "expired exit 12"},
			{"exit 65", "dead", 1, "failed exit 65"},
		}},
		{"signal=fail", 7, []end{{"kill -KILL $$", "retrying", 1, "failed signal 9 (killed)"}, {"exit 0", "done", 1, ""}}},
		{"signal=release", 0, []end{{"kill -KILL $$", "delayed", 0, "released signal 9 (killed)"}, {"exit 0", "done", 1, ""}}},
		{"", 126, []end{{"exit 126", "pending", 0, "released exit 126"}}},
		{"", 127, []end{{"exit 127", "pending", 0, "released exit 127"}}},
		{"5=stop", 5, []end{{"exit 5", "pending", 0, "released exit 5"}}},
	} {
		t.Run(fmt.Sprintf("%s %d", x.on, x.exit), func(t *testing.T) {
			c, conn, _ := withDB(t)
			var titles []string
			for _, e := range x.ends {
				titles = append(titles, e.does)
			}
			c.titled(titles...)
			args := obey()
			if x.on != "" {
				args = append([]string{"--on", x.on}, args...)
			}
			r := c.drain(args...)
			if r.code != x.exit || r.out != "" {
				t.Errorf("exit %d, want %d\n%s%s", r.code, x.exit, r.out, r.err)
			}
			for i, s := range rows(t, conn) {
				if e := x.ends[i]; s.Condition != e.condition || s.Attempt != e.attempt || s.History != e.history {
					t.Errorf("%s: %s after %d attempts, history %q", e.does, s.Condition, s.Attempt, s.History)
				}
			}
		})
	}
}

// Rules are refused before anything is claimed; the last of those that name a code counts.
func TestWorkRules(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled("exit 3")
	for _, bad := range []string{"3=bury", "300=dead", ""} {
		r := c.run("work", "-q", "q", "--drain", "--on", bad, "--", "true")
		if r.code != 2 || r.out != "" {
			t.Errorf("--on %q: exit %d", bad, r.code)
		}
		holds(t, r.err, "--on")
	}
	if r := c.drain(append([]string{"--on", "3=dead", "--on", "3=release", "--release-delay", "1h"}, obey()...)...); r.code != 0 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	if s := rows(t, conn)[0]; s.History != "released exit 3" || s.LeaseSeq != 1 || s.Delay != "01:00:00" {
		t.Errorf("%+v", s)
	}
}

// What was given back does not come back at once: 10 seconds, or as long as one says.
func TestWorkReleaseDelay(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled("exit 99")
	if r := c.drain(obey()...); r.code != 0 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	if s := rows(t, conn)[0]; s.Delay != "00:00:10" || s.Attempt != 0 {
		t.Errorf("%+v", s)
	}
	pgExec(t, conn, "UPDATE todos SET run_at = now()")
	if r := c.drain(append([]string{"--max", "1", "--release-delay", "0s"}, obey()...)...); r.code != 0 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	if s := rows(t, conn)[0]; s.Delay != "00:00:00" || s.LeaseSeq != 2 {
		t.Errorf("%+v", s)
	}
}

// A command that cannot be started spends nobody's attempts, gives back all that was claimed, and its
// code is the worker's.
func TestWorkCannotStart(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled("1", "2", "3", "4", "5")
	c.script("script", "#!/nowhere/sh\n")
	c.script("data", "no program\x00")
	if err := os.WriteFile(filepath.Join(c.dir, "text"), []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for i, x := range []struct {
		command string
		code    int
	}{{"nosuchcommand", 127}, {"./nosuchfile", 127}, {"./script", 127}, {"./text", 126}, {"./data", 126}} {
		args := [][]string{{"-c", "3", "--", x.command}, {"-c", "3", "--batch=2", "--", x.command}, {"-c", "3", "--stream", "--", x.command}}[i%3]
		r := c.drain(args...)
		if r.code != x.code || !strings.Contains(r.err, "cannot run the command") {
			t.Errorf("%v: exit %d, want %d\n%s", args, r.code, x.code, r.err)
		}
		if n := pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state = 'pending' AND attempt = 0 AND run_at <= now()"); n != 5 {
			t.Errorf("%v: %d of 5 are as they were", args, n)
		}
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todo_attempts WHERE outcome <> 'released'"); n != 0 {
		t.Errorf("%d leases ended otherwise than given back", n)
	}
}

// A todo whose own text is too long for an environment is that todo's failure, not the worker's end.
func TestWorkTodoTooLongForTheEnvironment(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled("long", "short")
	pgExec(t, conn, "UPDATE todos SET title = repeat('x', 3000000) WHERE title = 'long'") // by hand: enqueue refuses it
	if r := c.drain("--", "true"); r.code != 7 {
		t.Errorf("exit %d\n%.500s", r.code, r.err)
	}
	all := rows(t, conn)
	if all[0].Condition != "retrying" || !strings.Contains(all[0].History, "argument list too long") || all[1].Condition != "done" {
		t.Errorf("%+v", all)
	}
}

// The text of a failure is how the command ended, the last that it said, and the end of its stderr.
func TestWorkErrorText(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled("a\nb")
	r := c.drain("--", "sh", "-c", `echo out; echo first >&2; printf 'caf\351 \033[31mred' >&2; exit 1`)
	want := "exit 1: caf\uFFFD \x1b[31mred\nfirst\ncaf\uFFFD \x1b[31mred"
	s := rows(t, conn)[0]
	if *s.Error != want || pgValue[string](t, conn, "SELECT error FROM todo_attempts") != want {
		t.Errorf("error %q, want %q", *s.Error, want)
	}
	// What the command says goes on as it is, in whole lines; what todoctl says of it is escaped.
	for _, line := range []string{"out\n", "first\n", "caf\xe9 \x1b[31mred\n"} {
		holds(t, r.err, line)
	}
	holds(t, r.err, "failed "+s.ID+" q attempt 1 ", `s exit 1: caf`+"\uFFFD"+` \x1b[31mred`)
	if r.out != "" {
		t.Errorf("stdout %q", r.out)
	}
}

// What a command learns of its todo, and what it does not learn of todoctl.
func TestWorkEnvironment(t *testing.T) {
	t.Parallel()
	c, _, url := withDB(t)
	id := c.ok("enqueue", "-q", "q", "--kind", "k k", "--title", "t'\"$x\nü", "--source", "s", "--key", "K", "--max-attempts", "3", `{"n":9007199254740993}`)
	c = c.with("PGPASSWORD=secret", "PGAPPNAME=app", "DATABASE_URL=postgres://other", "MINE=1", "TODO_PAYLOAD=old", "TODO_KIND=old", "PGHOST=elsewhere")
	if r := c.drain("--owner", "me", "--", "sh", "-c", "env -0 >env; cat >payload"); r.code != 0 {
		t.Fatalf("exit %d\n%s", r.code, r.err)
	}
	if got := c.wrote("payload"); got != `{"n": 9007199254740993}` {
		t.Errorf("payload %s", got)
	}
	env := map[string]string{}
	for kv := range strings.SplitSeq(c.wrote("env"), "\x00") {
		name, value, _ := strings.Cut(kv, "=")
		env[name] = value
	}
	for name, want := range map[string]string{"TODO_ID": id, "TODO_RECEIPT": id + "@1", "TODO_QUEUE": "q", "TODO_KIND": "k k", "TODO_TITLE": "t'\"$x\nü",
		"TODO_SOURCE": "s", "TODO_KEY": "K", "TODO_OWNER": "me", "TODO_ATTEMPT": "1", "TODO_MAX_ATTEMPTS": "3",
		"MINE": "1", "PGAPPNAME": "app", "DATABASE_URL": "postgres://other", "PGHOST": "elsewhere"} {
		if got, set := env[name]; got != want || !set {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	var deadline int64
	if _, err := fmt.Sscan(env["TODO_DEADLINE"], &deadline); err != nil || deadline < 1e9 {
		t.Errorf("TODO_DEADLINE is %q", env["TODO_DEADLINE"])
	}
	for _, name := range []string{"TODOCTL_DATABASE_URL", "PGPASSWORD", "TODO_PAYLOAD"} {
		if v, set := env[name]; set {
			t.Errorf("%s=%s is left to the command", name, v)
		}
	}
	for name, got := range env {
		if strings.Contains(got, "secret") || strings.Contains(got, url) {
			t.Errorf("%s=%s tells of the connection", name, got)
		}
	}
	c.ok("enqueue", "-q", "q")
	if r := c.drain("--keep-env", "TODOCTL_DATABASE_URL", "--keep-env", "PGPASSWORD", "--", "sh", "-c", "todoctl enqueue -q next; env >env"); r.code != 0 {
		t.Fatalf("exit %d\n%s", r.code, r.err)
	}
	holds(t, c.wrote("env"), "PGPASSWORD=secret\n")
	c.ok("claim", "-q", "next", "--quiet")
}
