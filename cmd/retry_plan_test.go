package cmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/queue"
)

// deadLetters makes n dead letters, two kinds in two queues, and a table that notes each time that one of them is moved.
func deadLetters(t *testing.T, conn *pgx.Conn, n int) {
	t.Helper()
	pgExec(t, conn, `INSERT INTO todos (id, queue, kind, idempotency_key, state, error, completed_at, attempt, lease_seq)
		SELECT 'td_' || lpad(i::text, 6, '0'), 'q' || i % 2, CASE WHEN i % 4 = 0 THEN 'a' ELSE 'b' END, i, 'failed', 'x', now(), 5, 7 FROM generate_series(1, $1::int) i`, n)
	pgExec(t, conn, `CREATE TABLE moves (id text)`)
	pgExec(t, conn, `CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO moves VALUES (NEW.id); RETURN NEW; END'`)
	pgExec(t, conn, `CREATE TRIGGER note AFTER UPDATE ON todos FOR EACH ROW WHEN (OLD.state = 'failed' AND NEW.state = 'pending') EXECUTE FUNCTION note()`)
}

// movesOf says how often todos were moved, and how many were.
func movesOf(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	return pgValue[string](t, conn, "SELECT count(*) || ' of ' || count(DISTINCT id) FROM moves")
}

// Counts by queue and kind, and a plan that says what would be done and does nothing.
func TestRetryPlanChangesNothing(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	deadLetters(t, conn, 10)
	const want = `"matched":10,"changed":0,"superseded":0,"skipped":0,"errors":0,` +
		`"groups":[{"queue":"q1","kind":"b","count":5},{"queue":"q0","kind":"b","count":3},{"queue":"q0","kind":"a","count":2}]}`
	for _, args := range [][]string{{"--dry-run"}, {"--plan", "plan"}} {
		if got := c.ok(append([]string{"retry", "--all", "-o", "json"}, args...)...); got != `{"op":null,"verb":"retry",`+want {
			t.Errorf("%v: %s", args, got)
		}
	}
	if got := c.ok("retry", "-q", "q1", "--dry-run", "-o", "table"); !strings.Contains(got, "QUEUE") || !strings.Contains(got, "q1     b     5") {
		t.Errorf("as a table: %s", got)
	}
	if got := movesOf(t, conn); got != "0 of 0" || pgValue[int](t, conn, "SELECT count(*) FROM todo_journal") != 0 {
		t.Errorf("moved: %s", got)
	}
	text, err := os.ReadFile(filepath.Join(c.dir, "plan"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	head := decode[map[string]any](t, lines[0])
	where := head["database"].(map[string]any)
	if len(lines) != 12 || lines[11] != `{"end":10}` || !strings.HasPrefix(lines[1], `{"id":"td_000001","lease_seq":7,"updated_at":"20`) ||
		where["system_identifier"] != pgValue[string](t, conn, "SELECT system_identifier::text FROM pg_control_system()") ||
		where["database"] != pgValue[string](t, conn, "SELECT current_database()") || where["schema"] != "public" ||
		fmt.Sprint(head["filter"]) != "map[state:[dead]]" {
		t.Errorf("the plan is\n%s", text)
	}

	// Another database, a plan that was cut short, and flags that do not go together: nothing moves.
	if r := c.on(pgtest.Database(t)).fails(2, "retry", "--apply", "plan", "--yes"); !strings.Contains(r.err, "another database") || r.out != "" {
		t.Errorf("another database: %s", r.err)
	}
	for name, bad := range map[string]string{"end": strings.Join(lines[:11], "\n") + "\n", "half a line": string(text[:len(text)-20]), "count": strings.Replace(string(text), "\n"+lines[5], "", 1),
		"none": "", "other": "{}\n" + lines[11], "no id": lines[0] + "\n{}\n{\"end\":1}\n"} {
		if err := os.WriteFile(filepath.Join(c.dir, "bad"), []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if r := c.fails(6, "retry", "--apply", "bad", "--yes"); !strings.Contains(r.err, "bad, line ") {
			t.Errorf("%s: %s", name, r.err)
		}
	}
	for _, args := range []string{"--apply plan", "--apply none --yes", "--apply plan --all --yes", "--apply plan -q q0 --yes", "td_000001 --apply plan --yes", "td_000001 --plan p",
		"--plan p", "--all --plan p --dry-run", "--all --plan p --rate 1/s", "--apply plan --delay 1h --yes", "--all --yes --canary 5", "--all --yes --stop-if failed>5",
		"--apply plan --yes --canary 0", "--apply plan --yes --stop-if failed", "--apply plan --yes --stop-if failed>101%", "--apply plan --yes --rate 5", "--apply plan --yes --rate 0/s",
		"--all --plan /nowhere/p", "--apply plan --plan plan --yes"} {
		c.fails(2, append([]string{"retry"}, strings.Fields(args)...)...)
	}
	if got := movesOf(t, conn); got != "0 of 0" {
		t.Errorf("moved: %s", got)
	}

	// What changed since is skipped and counted, a taken key is superseded, a row at fault does not stop the rest.
	c.ok("retry", "td_000002", "--quiet")
	pgExec(t, conn, "UPDATE todos SET lease_seq = 8 WHERE id = 'td_000003'")
	pgExec(t, conn, "DELETE FROM todos WHERE id = 'td_000004'")
	c.ok("enqueue", "-q", "q1", "--key", "5")
	pgExec(t, conn, `CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''not this one''; END'`)
	pgExec(t, conn, `CREATE TRIGGER no BEFORE UPDATE ON todos FOR EACH ROW WHEN (OLD.id = 'td_000006') EXECUTE FUNCTION no()`)
	if got := c.ok("retry", "--apply", "plan", "--dry-run"); got != "10\t0\t0\t3\t0\t0" {
		t.Errorf("dry run: %s", got)
	}
	r := c.fails(7, "retry", "--apply", "plan", "--yes", "--rate", "100000/s")
	if r.out != "10\t5\t1\t3\t1\t0\n" || !strings.Contains(r.err, "td_000006 is left out: not this one") {
		t.Errorf("applied: %s%s", r.out, r.err)
	}
	pgExec(t, conn, "DROP TRIGGER no ON todos")
	if got := c.ok("retry", "--apply", "plan", "--yes", "-o", "json"); !strings.Contains(got, `"changed":1,"superseded":1,"skipped":3,"errors":0,"already":5,"stopped":null}`) ||
		!strings.Contains(got, fmt.Sprintf(`{"op":%q`, head["op"])) {
		t.Errorf("again: %s", got)
	}
	if got := pgValue[string](t, conn, "SELECT concat_ws(' ', count(*), sum(changed)) FROM todo_journal WHERE op = $1", head["op"]); got != "1 6" {
		t.Errorf("the journal: %s", got)
	}
	// Without a plan a row at fault does not stop the rest either.
	pgExec(t, conn, `CREATE TRIGGER no BEFORE UPDATE ON todos FOR EACH ROW WHEN (OLD.id = 'td_000007') EXECUTE FUNCTION no()`)
	c.ok("bury", "--kind", "b", "--yes", "-q", "q0", "--quiet")
	r = c.fails(7, "bury", "-q", "q1", "--yes", "-o", "json")
	if s := decode[queue.Sweep](t, r.out); s.Matched != 4 || s.Changed != 3 || s.Errors != 1 {
		t.Errorf("by filter: %s%s", r.out, r.err)
	}
}

// A run that is killed is taken up where it was: each todo is moved exactly once, also when two apply one plan at once.
func TestRetryPlanIsTakenUpAfterAKill(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	const n = 600
	deadLetters(t, conn, n)
	rows := func() string {
		return pgValue[string](t, conn, "SELECT string_agg(to_jsonb(t)::text, ',' ORDER BY id) FROM todos t")
	}
	before := rows()
	c.ok("retry", "--all", "--plan", "plan", "--quiet")
	apply := []string{"retry", "--apply", "plan", "--yes", "-o", "json"}
	for round := 1; round <= 3; round++ {
		p := exec.Command(c.find("todoctl"), append(apply, "--rate", "300/s")...)
		p.Dir, p.Env = c.dir, c.env
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
		waitUntil(t, "some are moved", func() bool {
			return pgValue[int](t, conn, "SELECT count(*) FROM moves") > round*40
		})
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.Wait() // it was killed
	}
	pgValue[int](t, conn, `SELECT 1 FROM pg_sleep(0.1)`) // what the server still has of a killed one commits or not
	moved := pgValue[int](t, conn, "SELECT count(*) FROM moves")
	if moved >= n {
		t.Fatal("all were moved before the last kill")
	}
	var wg sync.WaitGroup
	var out [2]outcome
	for i := range out {
		wg.Go(func() { out[i] = c.run(apply...) })
	}
	wg.Wait()
	changed := 0
	for _, r := range out {
		a := decode[queue.Applied](t, r.out)
		if r.code != 0 || a.Matched != n || a.Changed+a.Already != n || a.Skipped+a.Superseded+a.Errors != 0 {
			t.Errorf("exit %d %s%s", r.code, r.out, r.err)
		}
		changed += a.Changed
	}
	if changed != n-moved {
		t.Errorf("%d were moved by the last two, of %d that were left", changed, n-moved)
	}
	if got := movesOf(t, conn); got != fmt.Sprintf("%d of %d", n, n) {
		t.Errorf("moves: %s", got)
	}
	if got := pgValue[string](t, conn, `SELECT concat_ws(' ', count(*), max(changed), (SELECT count(*) FROM todo_journal_rows)) FROM todo_journal`); got != fmt.Sprintf("1 %d %d", n, n) {
		t.Errorf("rows of the journal, changed, and rows touched: %s", got)
	}
	// What was applied can be undone, like any verb: the rows are as they were, and the plan is over.
	op := pgValue[string](t, conn, "SELECT op FROM todo_journal")
	if got := c.ok("undo", op, "--yes"); got != fmt.Sprintf("%d\t%d\t0\t0\t0", n, n) {
		t.Errorf("undo: %s", got)
	}
	if rows() != before {
		t.Error("the rows are not as they were before the plan")
	}
	for _, more := range []string{"--yes", "--dry-run"} {
		if r := c.fails(4, "retry", "--apply", "plan", more); !strings.Contains(r.err, op+" was undone by op_") || !strings.Contains(r.err, "make a new plan") {
			t.Errorf("after the undo: %s", r.err)
		}
	}
}

// Half of a plan is applied when it is undone: whoever applies it stops, and nothing is moved after the undo.
func TestUndoEndsAPlanThatIsApplied(t *testing.T) {
	t.Parallel()
	c, conn := planned(t, 200)
	p := c.applies("--rate", "40/s")
	waitUntil(t, "some are moved", func() bool { return pgValue[int](t, conn, "SELECT count(*) FROM moves") > 8 })
	c.ok("undo", pgValue[string](t, conn, "SELECT op FROM todo_journal"), "--yes", "--quiet")
	moved := pgValue[int](t, conn, "SELECT count(*) FROM moves")
	_ = p.Wait() // how it ended is asked for below
	if code := p.ProcessState.ExitCode(); code != 4 {
		t.Errorf("exit %d", code)
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM moves"); n != moved || pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state = 'failed'") != 200 {
		t.Errorf("%d were moved, %d before the undo; all must be dead", n, moved)
	}
}

// The rate holds, with a plan that one process applies or two at once, by filter and by id: by the times that the journal has of each
// todo. It is never more; where the machine was busy with other things for a second, which nobody makes up for, it is measured again.
func TestRetryRate(t *testing.T) {
	t.Parallel()
	const rate = 40
	for name, args := range map[string]string{"plan": "--apply plan --yes", "two": "--apply plan --yes", "filter": "--all --yes", "ids": "-"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := 0.0
			for try := 0; try < 3 && got < 0.9*rate; try++ {
				got = retryRate(t, rate, name == "two", strings.Fields(args)...)
			}
			if got < 0.9*rate || got > 1.1*rate {
				t.Errorf("%.1f/s, want %d/s within a tenth", got, rate)
			}
		})
	}
}

// retryRate retries dead letters so many a second and returns how many a second it were.
func retryRate(t *testing.T, rate int, two bool, args ...string) float64 {
	t.Helper()
	c, conn, _ := withDB(t)
	const n = 160
	deadLetters(t, conn, n)
	c.ok("retry", "--all", "--plan", "plan", "--quiet")
	var other *applyingPlan
	if two {
		other = c.applies("--rate", fmt.Sprint(rate, "/s"))
	}
	r := c.pipe(c.ok("dead-letters", "-o", "id"), append([]string{"retry", "--rate", fmt.Sprint(rate, "/s"), "--quiet"}, args...)...)
	if r.code != 0 {
		t.Fatal(r)
	}
	if other != nil {
		other.ends(0)
	}
	if got := movesOf(t, conn); got != fmt.Sprintf("%d of %d", n, n) {
		t.Errorf("moves %s", got)
	}
	// From the first transaction to the last all are moved but those of the last, which are as many as those of the first.
	return pgValue[float64](t, conn, `SELECT ((count(*) - count(*) FILTER (WHERE updated_at = last)) / extract(epoch FROM max(updated_at) - min(updated_at)))::float8
		FROM (SELECT updated_at, max(updated_at) OVER () AS last FROM todo_journal_rows) r`)
}
