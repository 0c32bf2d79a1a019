package cmd_test

import (
	"strings"
	"testing"
)

// TestQueuesWithAWindow reads known rates off a history, for machines and for people.
func TestQueuesWithAWindow(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	pgExec(t, conn, `INSERT INTO todos (queue, state, created_at, run_at, claimed_at, completed_at, attempt, lease_seq)
		SELECT 'mail', 'done', now() - interval '2 h', now() - interval '11 min', now() - interval '10 min', now() - interval '9 min', 1, 1 FROM generate_series(1, 1080)`)
	pgExec(t, conn, `INSERT INTO todos (id, queue, created_at) SELECT 'td_z' || lpad((999 - i)::text, 3, '0'), 'mail', now() - i * interval '10 s' + interval '5 s' FROM generate_series(1, 360) i`)
	if got := c.ok("queues", "--window", "1h", "--jq", `.[0] | [.pending, (.in_per_second * 100 | round), (.out_per_second * 100 | round), .wait_p50_seconds, .run_p95_seconds, (.drain_seconds / 10 | round), .forecast] | tojson`); got != `[360,10,30,60,60,180,"drains in 30m"]` {
		t.Errorf("for machines: %s", got)
	}
	sheet := c.ok("queues", "--window", "1h", "-o", "table")
	if !strings.Contains(sheet, "in 30m") || !strings.Contains(sheet, " 0.1 ") {
		t.Errorf("for people:\n%s", sheet)
	}
	if sheet = c.ok("queues", "--window", "1h", "--scan-limit", "100", "-o", "table"); !strings.Contains(sheet, "~0.1") || !strings.Contains(sheet, "~1.") {
		t.Errorf("read in part:\n%s", sheet)
	}
	if sheet = c.ok("queues", "-o", "table"); !strings.Contains(sheet, " ~1000 ") {
		t.Errorf("done todos:\n%s", sheet)
	}
	if sheet = c.ok("queues", "--exact", "-o", "table"); !strings.Contains(sheet, " 1080 ") {
		t.Errorf("done todos, counted:\n%s", sheet)
	}
	c.fails(2, "queues", "--window", "0s")
	c.fails(2, "queues", "--scan-limit", "0")
}

// TestOwnersOnTheCommandLine lists the holder of a lease.
func TestOwnersOnTheCommandLine(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	if got := c.ok("owners", "-o", "json"); got != "[]" {
		t.Errorf("nobody: %s", got)
	}
	id := c.ok("enqueue", "-q", "mail", "null")
	c.ok("claim", id, "--owner", "ann")
	if got := c.ok("owners", "--jq", `.[0] | [.owner, .leases, .expired, .queues[0], .next_id] | join(" ")`); got != "ann 1 0 mail "+id {
		t.Errorf("one lease: %s", got)
	}
	if got := c.ok("owners", "-o", "id"); got != "ann" {
		t.Errorf("the id: %s", got)
	}
	for range 3 {
		c.pipe(strings.Repeat(`{"delay":"1m"}`+"\n", 40), "enqueue", "-q", "mail", "--from", "-")
	}
	if r := c.run("owners", "--scan-limit", "1", "-o", "table"); !strings.Contains(r.err, "~ read about 1 todos") {
		t.Errorf("read in part: %s%s", r.out, r.err)
	}
}
