package cmd_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// TestCaseC065ReapLeavesAnExtendedLease extends leases after a sweep has listed them as expired and before
// it comes to them: the sweep finds out under the row lock.
func TestCaseC065ReapLeavesAnExtendedLease(t *testing.T) {
	t.Parallel()
	c, conn, url := withDB(t)
	addExpired(t, conn, "q", 1200)
	release := holdHistory(t, conn)
	sweep := c.start("todoctl", "reap", "-o", "json")
	other := pgtest.Connect(t, url)
	waitUntil(t, "the first batch, stopped half-way", func() bool { return reapers(t, other, "wait_event_type = 'Lock'") == 1 })
	// What the first batch has not locked belongs to a later one.
	receipts := pgValue[string](t, other, `SELECT string_agg(id || '@' || lease_seq, e'\n') FROM
		(SELECT id, lease_seq FROM todos WHERE state = 'claimed' FOR UPDATE SKIP LOCKED LIMIT 5) x`)
	if r := c.pipe(receipts, "heartbeat", "-", "--ttl", "1h"); r.code != 0 {
		t.Fatalf("heartbeat: exit %d, %s", r.code, r.err)
	}
	release()
	r := sweep.end()
	if r.code != 0 {
		t.Fatalf("reap: exit %d, %s", r.code, r.err)
	}
	if got := decode[queue.ReapResult](t, r.out).Requeued; got != 1195 {
		t.Errorf("%d requeued, want 1195", got)
	}
	for _, receipt := range strings.Fields(receipts) {
		if got := c.ok("show", receipt, "--jq", ".condition + \" \" + .receipt"); got != "claimed "+receipt {
			t.Errorf("%s after the sweep: %s", receipt, got)
		}
	}
}

// TestCaseC065HeartbeatRacesReap makes heartbeats fall on the end of their leases while sweeps run without a
// pause: after each one that succeeded, the lease is still its owner's.
func TestCaseC065HeartbeatRacesReap(t *testing.T) {
	t.Parallel()
	_, conn, url := withDB(t)
	const rounds = 1000
	pgExec(t, conn, `INSERT INTO todos (queue, state, owner, lease_expires_at, lease_seq, attempt, claimed_at)
		SELECT 'q', 'claimed', 'w', now() + interval '1 day', 1, 1, now() FROM generate_series(1, $1::int)`, rounds)
	worker, reaper := client(t, url), client(t, url)
	ctx, stop := context.WithCancel(context.Background())
	swept := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			if _, err := reaper.Reap(ctx, nil, false, nil); err != nil && ctx.Err() == nil {
				swept <- err
				return
			}
		}
		swept <- nil
	}()
	ids := strings.Fields(pgValue[string](t, conn, "SELECT string_agg(id, ' ') FROM todos"))
	kept := 0
	for i, id := range ids {
		end := time.Duration(i%8) * 250 * time.Microsecond // from over already to not yet
		pgExec(t, conn, "UPDATE todos SET lease_expires_at = clock_timestamp() + $2::interval WHERE id = $1", id, end)
		list, err := worker.Heartbeat(ctx, queue.LeaseParams{Receipts: []todo.Receipt{{ID: id, Seq: 1}}}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		state := pgValue[string](t, conn, "SELECT state || lease_seq || coalesce(owner, '') FROM todos WHERE id = $1", id)
		switch {
		case list[0].Error == nil && state == "claimed1w":
			kept++
		case list[0].Error != nil && errors.Is(list[0].Error, todo.ErrConflict) && state == "pending1":
		default:
			t.Fatalf("round %d: heartbeat says %v, and the todo is %s", i, list[0].Error, state)
		}
	}
	stop()
	if err := <-swept; err != nil {
		t.Fatal(err)
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state = 'claimed'"); n != kept {
		t.Errorf("%d leases are left of %d that were extended", n, kept)
	}
}

// client returns a store on the database, without a process around it.
func client(t *testing.T, url string) *queue.Client {
	t.Helper()
	c, err := queue.Open(context.Background(), queue.Options{Connect: func(ctx context.Context) (*pgx.Conn, error) {
		cfg, err := pgx.ParseConfig(url)
		if err != nil {
			return nil, err
		}
		cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
		return pgx.ConnectConfig(ctx, cfg)
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// TestCaseC066HugeBacklog sweeps a large backlog of lapsed leases: in batches that commit each for itself,
// so that a statement timeout loses nothing, and beside claims in other queues, which never wait.
// The case has a million rows; here it is 60,000, which are as many batches as matter (the time that a
// sweep takes grows with the rows alone).
func TestCaseC066HugeBacklog(t *testing.T) {
	t.Parallel()
	c, conn, url := withDB(t)
	const rows = 60000
	addExpired(t, conn, "big", rows)
	pgExec(t, conn, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET statement_timeout = %L', current_database(), '3s'); END $$")
	first := c.ok("enqueue", "-q", "other", "1")
	second := c.ok("enqueue", "-q", "other", "2")

	sweep := c.start("todoctl", "reap", "-o", "json")
	watch := pgtest.Connect(t, url)
	left := func() int { return pgValue[int](t, watch, "SELECT count(*) FROM todos WHERE state = 'claimed'") }
	waitUntil(t, "a first batch", func() bool { return left() < rows })
	if got := c.ok("claim", "-q", "other", "-o", "id"); got != first {
		t.Errorf("claimed %s, want %s", got, first)
	}
	release := holdHistory(t, conn) // from here on no batch can end
	r := sweep.end()
	release()
	if r.code != 8 || !strings.Contains(r.err, "statement_timeout") {
		t.Fatalf("exit %d, want 8 and the name of the setting: %s", r.code, r.err)
	}
	lines := strings.Split(strings.TrimSpace(r.err), "\n")
	told := decode[struct {
		Error struct{ Requeued int }
	}](t, lines[len(lines)-1]).Error.Requeued
	if done := rows + 1 - left(); told == 0 || told != done {
		t.Errorf("the error tells of %d requeued, and %d are", told, done)
	}

	again := c.start("todoctl", "reap", "-o", "json")
	before := left()
	waitUntil(t, "a further batch", func() bool { return left() < before })
	if got := c.ok("claim", "-q", "other", "-o", "id"); got != second {
		t.Errorf("claimed %s, want %s", got, second)
	}
	r = again.end()
	if r.code != 0 {
		t.Fatalf("the second sweep: exit %d, %s", r.code, r.err)
	}
	if got := decode[queue.ReapResult](t, r.out).Requeued; got != rows-told {
		t.Errorf("the second sweep requeued %d, want the other %d", got, rows-told)
	}
}

// TestCaseC068NobodyReaps leaves an expired lease alone: it is counted apart, and a claim picks it up.
func TestCaseC068NobodyReaps(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	id := c.ok("enqueue", "-q", "q", "1")
	c.ok("claim", "-q", "q", "--ttl", "1h")
	if got := c.ok("queues", "--jq", ".[] | [.claimed, .expired, .oldest_expired_lease_seconds]"); got != "[1,0,null]" {
		t.Errorf("while the lease runs: %s", got)
	}
	pgExec(t, conn, "UPDATE todos SET lease_expires_at = now() - interval '90 seconds'")
	got := c.ok("queues", "--jq", ".[] | [.claimed, .expired, .oldest_expired_lease_seconds >= 90, .oldest_seconds >= 90]")
	if got != "[0,1,true,true]" {
		t.Errorf("when it is over: %s", got)
	}
	if got := c.ok("claim", "-q", "q", "--owner", "w2", "--jq", ".receipt, .owner, .attempt"); got != id+"@2\nw2\n2" {
		t.Errorf("the claim that took it over: %s", got)
	}
	if got := c.ok("show", id, "--jq", ".history[] | [.outcome, .owner, .attempt]"); got != `["taken over","w",1]` {
		t.Errorf("its history: %s", got)
	}
}

// TestCaseC069AttemptLimit lets each attempt of a todo crash: it is requeued while attempts are left, and
// dead at the cap, neither one too early nor one too late.
func TestCaseC069AttemptLimit(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	id := c.ok("enqueue", "-q", "q", "--max-attempts", "4", "1")
	receipt := c.ok("claim", "-q", "q", "-o", "receipt")
	c.ok("fail", receipt, "--error", "smtp 451", "--result", `{"sent":3}`, "--retry-in", "0s")
	for _, want := range []string{`["pending",2,"lease expired"]`, `["pending",3,"lease expired"]`, `["dead",4,"lease expired"]`} {
		c.ok("claim", "-q", "q", "--ttl", "1s")
		expire(t, conn)
		c.ok("reap")
		if got := c.ok("show", id, "--jq", "[.condition, .attempt, .error]"); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
	c.fails(3, "claim", "-q", "q")
	got := c.ok("show", id, "--jq", ".history[] | [.attempt, .outcome, .error, .result]")
	want := `[1,"failed","smtp 451",{"sent":3}]
[2,"expired","lease expired",null]
[3,"expired","lease expired",null]
[4,"expired","lease expired",null]`
	if got != want {
		t.Errorf("history:\n%s\nwant:\n%s", got, want)
	}
}
