//go:build unix

package cmd_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

// TestCaseC137PruneOfALargeBacklog deletes a backlog that takes longer than the server lets a statement run. It goes in
// batches, each of them kept: claims go on beside it, an interrupted run keeps what it did, and the next one goes on.
func TestCaseC137PruneOfALargeBacklog(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	const rows = 6000
	pgExec(t, conn, `INSERT INTO todos (id, queue, state, created_at, completed_at, attempt, lease_seq)
		SELECT 'td_' || lpad(i::text, 8, '0'), 'q', 'done', now() - interval '60 d', now() - interval '60 d', 1, 1 FROM generate_series(1, $1::int) i`, rows)
	pgExec(t, conn, `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.001); RETURN OLD; END $$`)
	pgExec(t, conn, "CREATE TRIGGER slow BEFORE DELETE ON todos FOR EACH ROW EXECUTE FUNCTION slow()")
	pgExec(t, conn, fmt.Sprintf("ALTER DATABASE %s SET statement_timeout = '5s'", pgValue[string](t, conn, "SELECT current_database()")))
	left := func() int { return pgValue[int](t, conn, "SELECT count(*)::int FROM todos WHERE state = 'done'") }
	c.ok("enqueue", "-q", "live", "null")

	var stderr bytes.Buffer
	p := exec.Command(c.find("todoctl"), "prune", "--older-than", "7d", "--yes", "-o", "json")
	p.Dir, p.Env, p.Stderr = c.dir, c.env, &stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	for left() == rows {
		time.Sleep(10 * time.Millisecond)
	}
	c.ok("claim", "-q", "live")
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait() // how it ended is asked for below
	if end := p.ProcessState.String(); end != "signal: interrupt" || !strings.Contains(stderr.String(), "run it again to go on") {
		t.Errorf("ended with %s: %s", end, stderr.String())
	}
	n := left()
	if n == 0 || n == rows || !strings.Contains(stderr.String(), fmt.Sprintf("%d todos were deleted", rows-n)) {
		t.Errorf("%d of %d are left, and it said %s", n, rows, stderr.String())
	}
	if got := c.ok("prune", "--older-than", "7d", "--yes", "--jq", ".deleted"); got != fmt.Sprint(n) || left() != 0 {
		t.Errorf("the second run deleted %s of %d", got, n)
	}
}

// TestCaseC139AHeldSnapshot holds a snapshot while todos come and go: doctor names the process that holds it, its age and
// the dead rows, claims go on, and the table's own vacuum settings are there.
func TestCaseC139AHeldSnapshot(t *testing.T) {
	t.Parallel()
	c, conn, url := withDB(t)
	other := pgtest.Connect(t, url)
	pgExec(t, other, "BEGIN ISOLATION LEVEL REPEATABLE READ")
	pid := pgValue[int](t, other, "SELECT pg_backend_pid() FROM (SELECT count(*) FROM todos) held")
	for range 3 {
		c.pipe(strings.Repeat("{}\n", 500), "enqueue", "-q", "q", "--from", "-")
		c.sh("sh", "todoctl claim -q q -n 500 -o receipt | todoctl complete -")
	}
	pgExec(t, conn, "ANALYZE todos")
	type finding struct{ Check, Status, Message string }
	found := map[string]finding{}
	r := c.run("doctor", "-o", "json")
	for _, f := range decode[[]finding](t, r.out) {
		found[f.Check] = f
	}
	if m := found["snapshots"].Message; !strings.Contains(m, fmt.Sprintf("transaction %d ", pid)) {
		t.Errorf("who holds the snapshot: %+v, not %d", found["snapshots"], pid)
	}
	if found["dead-tuples"].Status == "" || found["dead-tuples"].Message == "" {
		t.Errorf("nothing of dead rows: %+v", found)
	}
	id := c.ok("enqueue", "-q", "q", "null")
	if got := c.ok("claim", "-q", "q", "-o", "id"); got != id {
		t.Errorf("beside it a claim got %s, want %s", got, id)
	}
	if options := pgValue[[]string](t, conn, "SELECT reloptions FROM pg_class WHERE oid = 'todos'::regclass"); len(options) < 4 {
		t.Errorf("the table's own vacuum settings: %v", options)
	}
}

// TestCaseC141CountsOfALargeTable counts a table like that of the case, which is mostly done: live and dead todos as they are
// or nearly so and marked, done ones estimated and marked, all of them counted with --exact; and the command ends when its time is over.
func TestCaseC141CountsOfALargeTable(t *testing.T) {
	t.Parallel()
	c, conn, url := withDB(t)
	other := pgtest.Connect(t, url)
	pgExec(t, conn, `INSERT INTO todos (id, queue, state, attempt, max_attempts, created_at, completed_at)
		SELECT 'td_' || lpad(i::text, 8, '0'), 'q' || (i % 20), s, 1, 5, at, CASE WHEN s <> 'pending' THEN at END
		  FROM (SELECT i, now() - (200000 - i) * interval '1 s' AS at, (ARRAY['done','done','done','done','done','done','done','done','failed','pending'])[1 + i / 20 % 10] AS s
		          FROM generate_series(1, 200000) i) r`)
	pgExec(t, conn, "ANALYZE todos")
	type counts struct {
		Queue               string
		Pending, Dead, Done int
		LiveEstimated       bool `json:"live_estimated"`
		DeadEstimated       bool `json:"dead_estimated"`
		DoneEstimated       bool `json:"done_estimated"`
	}
	near := func(n, want int, estimated bool) bool {
		return n == want || estimated && n > want*9/10 && n < want*11/10
	}
	for _, q := range decode[[]counts](t, c.ok("queues", "-o", "json")) {
		if !near(q.Pending, 1000, q.LiveEstimated) || !near(q.Dead, 1000, q.DeadEstimated) || !q.DoneEstimated || q.Done < 6000 || q.Done > 10000 {
			t.Errorf("estimated: %+v", q)
		}
	}
	for _, q := range decode[[]counts](t, c.ok("queues", "--exact", "-o", "json")) {
		if q.Pending != 1000 || q.Dead != 1000 || q.LiveEstimated || q.DeadEstimated || q.DoneEstimated || q.Done != 8000 {
			t.Errorf("exact: %+v", q)
		}
	}
	if sheet := c.ok("queues", "-q", "q7", "-o", "table"); !strings.Contains(sheet, "~") {
		t.Errorf("an estimate without its mark:\n%s", sheet)
	}
	pgExec(t, other, "BEGIN")
	pgExec(t, other, "LOCK TABLE todos IN ACCESS EXCLUSIVE MODE")
	c.fails(124, "queues", "--timeout", "300ms")
	pgExec(t, other, "ROLLBACK")
}
