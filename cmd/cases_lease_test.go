package cmd_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// snapshot returns a row as it stands, to be compared later.
func snapshot(t *testing.T, conn *pgx.Conn, id string) string {
	t.Helper()
	return pgValue[string](t, conn, `SELECT to_jsonb(t)::text || coalesce((SELECT jsonb_agg(a ORDER BY lease_seq)::text FROM todo_attempts a
		WHERE todo_id = t.id), '') FROM todos t WHERE id = $1`, id)
}

// unchanged requires that f changes nothing about the todo.
func unchanged(t *testing.T, conn *pgx.Conn, id string, f func()) {
	t.Helper()
	before := snapshot(t, conn, id)
	f()
	if after := snapshot(t, conn, id); after != before {
		t.Errorf("the todo changed from\n%s to\n%s", before, after)
	}
}

// lapse claims the next todo of queue q for an owner, lets the lease run out, and returns the receipt.
func (c *cli) lapse(conn *pgx.Conn, owner string) string {
	c.t.Helper()
	receipt := c.take("--owner", owner, "--ttl", "1m")
	expire(c.t, conn)
	return receipt
}

// id is the todo of a receipt.
func id(receipt string) string { return receipt[:strings.Index(receipt, "@")] }

func TestC035CompleteAfterAnotherTookIt(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.ok("enqueue", "-q", "q")
	late := c.lapse(conn, "w1")
	c.ok("reap", "--quiet")
	c.take("--owner", "w2")
	unchanged(t, conn, id(late), func() {
		for _, args := range [][]string{{late}, {late, "--owner", "w1"}, {id(late), "--owner", "w1"}} {
			r := c.fails(4, append(append([]string{"complete"}, args...), "--result", `"late"`)...)
			holds(t, r.err, "attempt 2 is w2's since 20")
		}
	})
	holds(t, c.fails(4, "complete", late).err, "the lease is lost", "hint: stop working")
	if !pgValue[bool](t, conn, "SELECT state = 'claimed' AND owner = 'w2' AND result IS NULL FROM todos") {
		t.Error("the row is not as w2 holds it")
	}
}

// One rule: a late completion counts as long as the row still bears this very lease.
func TestC036CompleteAfterExpiry(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.ok("enqueue", "-q", "q")
	c.ok("complete", c.lapse(conn, "w"), "--result", `"late"`)
	if got := pgValue[string](t, conn, "SELECT state || result FROM todos"); got != `done"late"` {
		t.Errorf("before the reap: %s", got)
	}
	c.ok("enqueue", "-q", "q")
	late := c.lapse(conn, "w")
	c.ok("reap", "--quiet")
	unchanged(t, conn, id(late), func() {
		holds(t, c.fails(4, "complete", late).err, "the lease has ended (expired); the todo is pending")
		holds(t, c.fails(4, "complete", id(late), "--owner", "w").err, "it is pending, not claimed")
	})
}

func TestC037SameOwnerNameClaimsAgain(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.ok("enqueue", "-q", "q")
	first := c.lapse(conn, "host1")
	second := c.take("--owner", "host1")
	if id(first) != id(second) || first == second {
		t.Fatalf("%s, then %s", first, second)
	}
	unchanged(t, conn, id(first), func() {
		for _, verb := range []string{"complete", "heartbeat", "fail", "release"} {
			holds(t, c.fails(4, verb, first, "--owner", "host1").err, "the lease is lost: attempt 2 is host1's")
		}
	})
	c.ok("complete", second, "--owner", "host1")
}

// A lease that ran out but that nobody took is extended, as it can still be completed.
func TestC038HeartbeatAfterExpiry(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.ok("enqueue", "-q", "q")
	late := c.lapse(conn, "w1")
	c.ok("heartbeat", late, "--owner", "w1", "--ttl", "1m")
	c.ok("heartbeat", id(late), "--owner", "w1", "--ttl", "1m")
	if !pgValue[bool](t, conn, "SELECT lease_expires_at BETWEEN now() AND now() + interval '1 min' AND lease_seq = 1 FROM todos") {
		t.Error("the lease was not extended")
	}
	c.fails(3, "claim", "-q", "q", "--owner", "w2")
	expire(t, conn)
	c.ok("reap", "--quiet")
	unchanged(t, conn, id(late), func() { c.fails(4, "heartbeat", late, "--ttl", "1m") })
	c.take("--owner", "w2", "--ttl", "10m")
	unchanged(t, conn, id(late), func() {
		holds(t, c.fails(4, "heartbeat", late, "--ttl", "1m").err, "the lease is lost", "w2's")
		holds(t, c.fails(4, "heartbeat", id(late), "--owner", "w1", "--ttl", "1m").err, "w2's")
	})
}

func TestC040ZeroOrNegativeTTL(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	todo := c.ok("enqueue", "-q", "q")
	nowhere := c.with("TODOCTL_DATABASE_URL=postgres://nobody@127.0.0.1:1/none") // refused before anything is asked
	for _, ttl := range []string{"0", "0s", "-5s", "1ns", "999ms", "7d1s", "8d"} {
		unchanged(t, conn, todo, func() {
			holds(t, c.fails(2, "claim", "-q", "q", "--ttl", ttl).err, "--ttl", "1s")
		})
		holds(t, nowhere.fails(2, "heartbeat", todo, "--ttl", ttl).err, "--ttl", "1s")
	}
	c.ok("claim", "-q", "q", "--ttl", "1s")
	c.ok("heartbeat", todo, "--ttl", "7d")
}

func TestC042TTLWithoutUnit(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	todo := c.ok("enqueue", "-q", "q")
	unchanged(t, conn, todo, func() {
		for source, run := range map[string]func() outcome{
			"--ttl":       func() outcome { return c.fails(2, "claim", "-q", "q", "--ttl", "300") },
			"TODOCTL_TTL": func() outcome { return c.with("TODOCTL_TTL=300").fails(2, "claim", "-q", "q") },
			"key ttl": func() outcome {
				return c.with("TODOCTL_CONFIG="+c.file("ttl.yaml", "ttl: 300\n")).fails(2, "claim", "-q", "q")
			},
		} {
			holds(t, run().err, source, `"300" has no unit`, "write 300s for seconds or 300m for minutes")
		}
	})
	c.with("TODOCTL_CONFIG="+c.file("ttl.yaml", "ttl: 300s\n")).ok("claim", "-q", "q")
	if !pgValue[bool](t, conn, "SELECT lease_expires_at - claimed_at = interval '300 s' FROM todos") {
		t.Error("the lease is not of 300 s")
	}
}
