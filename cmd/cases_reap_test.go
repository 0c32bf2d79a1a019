package cmd_test

import (
	"context"
	"errors"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/queue"
)

// withDB returns a cli and a connection of the test's own to the same fresh database.
func withDB(t *testing.T) (*cli, *pgx.Conn, string) {
	t.Helper()
	url := pgtest.Database(t)
	return newCLIOn(t, url), pgtest.Connect(t, url), url
}

func pgExec(t *testing.T, conn *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := conn.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func pgValue[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := conn.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// waitUntil polls until the condition holds. It bounds a hang; no test measures by it.
func waitUntil(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("this never came: %s", what)
		}
	}
}

// addExpired makes n claimed todos whose leases ended an hour ago, in shuffled physical order.
func addExpired(t *testing.T, conn *pgx.Conn, queue string, n int) {
	t.Helper()
	pgExec(t, conn, `INSERT INTO todos (queue, state, owner, lease_expires_at, lease_seq, attempt, max_attempts, claimed_at, run_at)
		SELECT $1, 'claimed', 'w', now() - interval '1 hour' + i * interval '1 us', 1, 1, 5, now() - interval '2 hours',
		       now() - interval '1 day' + i * interval '1 ms'
		  FROM generate_series(1, $2::int) i ORDER BY hashint4(i)`, queue, n)
	pgExec(t, conn, "INSERT INTO queues (name) VALUES ($1) ON CONFLICT DO NOTHING", queue)
}

// expire lets every running lease end.
func expire(t *testing.T, conn *pgx.Conn) {
	t.Helper()
	pgExec(t, conn, "UPDATE todos SET lease_expires_at = now() - interval '1 second' WHERE state = 'claimed'")
}

// proc is a process that runs while the test goes on.
type proc struct {
	*exec.Cmd
	out, errs written
	t         *testing.T
	done      chan struct{} // closed when it has ended
	failed    error         // what Wait said then
}

// start starts a process in a group of its own. It is killed when the test ends, if it still runs.
func (c *cli) start(argv ...string) *proc {
	c.t.Helper()
	p := &proc{Cmd: exec.Command(c.find(argv[0]), argv[1:]...), t: c.t, done: make(chan struct{})}
	p.Args[0] = argv[0]
	p.Dir, p.Env, p.Stdout, p.Stderr = c.dir, c.env, &p.out, &p.errs
	ownGroup(p.Cmd)
	if err := p.Start(); err != nil {
		c.t.Fatalf("%v: %v", argv, err)
	}
	go func() {
		defer close(p.done)
		p.failed = p.Wait()
	}()
	c.t.Cleanup(func() {
		killGroup(p.Cmd)
		<-p.done
	})
	return p
}

// end waits for the process; code is -1 where a signal ended it.
func (p *proc) end() outcome {
	p.t.Helper()
	select {
	case <-p.done:
		if p.failed != nil && !errors.As(p.failed, new(*exec.ExitError)) {
			p.t.Fatalf("%v: %v", p.Args, p.failed)
		}
	case <-time.After(2 * time.Minute):
		p.t.Fatalf("%v does not end\n%s%s", p.Args, p.out.String(), p.errs.String())
	}
	return outcome{p.out.String(), p.errs.String(), p.ProcessState.ExitCode()}
}

// holdHistory locks the table that a batch writes last, so that every sweep stops in the middle of one.
func holdHistory(t *testing.T, conn *pgx.Conn) (release func()) {
	t.Helper()
	tx, err := conn.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(context.Background(), "LOCK todo_attempts IN EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		if err := tx.Rollback(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// reapers counts the connections of sweeps of which the condition holds.
func reapers(t *testing.T, conn *pgx.Conn, condition string) int {
	t.Helper()
	return pgValue[int](t, conn, `SELECT count(*) FROM pg_stat_activity
		WHERE application_name = 'todoctl reap' AND datname = current_database() AND `+condition)
}

// TestCaseC062ReapsOverlap starts sweeps while another transaction holds half of the expired rows, as cron
// does on a slow database: each ends while the rows are still held, and a killed one leaves nothing behind.
// Where the case allows for "another reap is running", this design passes over locked rows in silence.
func TestCaseC062ReapsOverlap(t *testing.T) {
	t.Parallel()
	c, conn, url := withDB(t)
	addExpired(t, conn, "q", 1200)
	held, err := conn.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Exec(context.Background(), "SELECT 1 FROM todos ORDER BY id LIMIT 600 FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	var sweeps []*proc
	for range 6 {
		sweeps = append(sweeps, c.start("todoctl", "reap", "-o", "json"))
	}
	total := 0
	for _, p := range sweeps {
		r := p.end() // none of them waits for the rows that are held
		if r.code != 0 || r.err != "" {
			t.Fatalf("exit %d, stderr %q", r.code, r.err)
		}
		total += decode[queue.ReapResult](t, r.out).Requeued
	}
	if total != 600 {
		t.Errorf("%d requeued by all sweeps, want the 600 that nobody held", total)
	}
	if err := held.Rollback(context.Background()); err != nil {
		t.Fatal(err)
	}

	// A sweep is killed in the middle of a batch: its row locks go with its connection.
	release := holdHistory(t, conn)
	killed := c.start("todoctl", "reap")
	other := pgtest.Connect(t, url) // a transaction sees pg_stat_activity as it first looked
	waitUntil(t, "a batch that waits", func() bool { return reapers(t, other, "wait_event_type = 'Lock'") == 1 })
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed.end()
	release()
	waitUntil(t, "the end of the killed sweep's connections", func() bool { return reapers(t, other, "true") == 0 })
	c.ok("reap")
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state <> 'pending' OR attempt <> 1"); n != 0 {
		t.Errorf("%d todos are not pending after the sweep that followed a killed one", n)
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todo_attempts WHERE outcome = 'expired'"); n != 1200 {
		t.Errorf("%d leases are recorded as expired, want each of the 1200 once", n)
	}
}

// TestCaseC063ReapersAndWorkersDoNotDeadlock lets eight sweeps and four workers meet on expired rows. The case has
// 20,000; with 8,000 the sweeps meet in 16 batches each, which on a slow machine is enough.
func TestCaseC063ReapersAndWorkersDoNotDeadlock(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	const rows = 8000
	addExpired(t, conn, "q", rows)
	const worker = `for i in 1 2 3 4 5 6; do
		got=$(todoctl claim -q q --limit 20 -o receipt) || exit
		printf '%s\n' "$got" | todoctl heartbeat - --quiet || exit
		printf '%s\n' "$got" | todoctl complete - --quiet || exit
	done`
	var all []*proc
	for i := range 8 {
		all = append(all, c.start("todoctl", "reap", "-o", "json"))
		if i%2 == 0 {
			all = append(all, c.start("dash", "-c", worker))
		}
	}
	requeued := 0
	for _, p := range all {
		r := p.end()
		if r.code != 0 || r.err != "" {
			t.Errorf("%v: exit %d, stderr %q", p.Args, r.code, r.err)
		}
		if p.Args[0] == "todoctl" && r.code == 0 {
			requeued += decode[queue.ReapResult](t, r.out).Requeued
		}
	}
	if n := pgValue[int](t, conn, "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"); n != 0 {
		t.Errorf("%d deadlocks", n)
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state = 'done'"); n != 4*6*20 {
		t.Errorf("%d done, want all %d that the workers claimed", n, 4*6*20)
	}
	taken := pgValue[int](t, conn, "SELECT count(*) FROM todo_attempts WHERE outcome = 'taken over'")
	if requeued+taken != rows {
		t.Errorf("%d requeued and %d taken over, want %d in all: each lease ends once", requeued, taken, rows)
	}
	// Nothing was counted twice: a lease is in the history, or it is the row's last one and the todo is done.
	if n := pgValue[int](t, conn, `SELECT count(*) FROM todos t WHERE attempt <> lease_seq OR state NOT IN ('pending', 'done')
		OR lease_seq <> (SELECT count(*) FROM todo_attempts a WHERE a.todo_id = t.id) + (state = 'done')::int`); n != 0 {
		t.Errorf("%d todos whose attempts, leases and history do not agree", n)
	}
}
