//go:build unix

package cmd_test

import (
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/pgnet"
	"github.com/todoctl/todoctl/pkg/pgtest"
)

// Case C076: twenty processes at once through a PgBouncer in transaction mode that has two connections. Each
// command works without a setting, since it prepares nothing by name and sets nothing beyond its transaction.
func TestC076TransactionPooler(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	c := newCLIOn(t, pgnet.NewPooler(t, url))
	many := func(script string) {
		t.Helper()
		if r := c.sh("sh", script); r.code != 0 || r.err != "" {
			t.Fatalf("%s: exit %d\n%s%s", script, r.code, r.out, r.err)
		}
	}
	many("seq 200 | xargs -P 20 -I{} todoctl enqueue -q q --key k{} '{}'")
	many("seq 50 | xargs -P 20 -I{} sh -c 'todoctl complete \"$(todoctl claim -q q -o receipt)\"'")
	many("seq 20 | xargs -P 10 -I{} todoctl queues")
	if got := c.ok("work", "-q", "q", "--drain", "-c", "4", "--quiet", "--", "true"); got != "" {
		t.Errorf("work printed %q", got)
	}
	if r := c.pipe(strings.Repeat(`{"payload":1}`+"\n", 500), "enqueue", "-q", "bulk", "--from", "-", "-o", "json"); r.code != 0 || !strings.Contains(r.out, `"created":500`) {
		t.Errorf("bulk: exit %d, %s%s", r.code, r.out, r.err)
	}
	c.ok("claim", "-q", "bulk", "-n", "500", "-o", "receipt")
	for _, args := range [][]string{{"list"}, {"dead-letters"}, {"doctor"}, {"pause", "q"}, {"resume", "q"}, {"reap"}, {"migrate", "status"}} {
		if r := c.run(args...); r.code != 0 && args[0] != "doctor" {
			t.Errorf("%q: exit %d: %s", args, r.code, r.err)
		}
	}
	conn := pgtest.Connect(t, url)
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE queue = 'q' AND state = 'done'"); n != 200 {
		t.Errorf("%d of 200 todos are done", n)
	}
	// A setting of one command must not be left behind on a connection that another gets.
	for _, name := range []string{"enable_seqscan", "jit", "lock_timeout", "todoctl.low"} {
		if now := pgValue[string](t, pgtest.Connect(t, pgURL(c.env)), "SELECT coalesce(current_setting($1, true), '')", name); now == "off" || now == "10000" || now == "-infinity" {
			t.Errorf("%s is %q on a connection of the pool", name, now)
		}
	}
}

// Through such a pooler nobody can listen: waiting looks again now and then, says so once, and finds what comes.
func TestC076WaitThroughThePooler(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	pooled, direct := newCLIOn(t, pgnet.NewPooler(t, url)), newCLIOn(t, url)
	p := pooled.start("todoctl", "claim", "-q", "q", "--wait", "1m", "-o", "id")
	waitUntil(t, "word of it", func() bool { return p.errs.String() != "" })
	id := direct.ok("enqueue", "-q", "q")
	r := p.end()
	if r.code != 0 || strings.TrimSpace(r.out) != id {
		t.Errorf("exit %d, %q, want %s", r.code, r.out, id)
	}
	if n := strings.Count(r.err, "looking again now and then instead of being notified: notifications do not arrive, as behind a transaction pooler"); n != 1 {
		t.Errorf("said %d times: %s", n, r.err)
	}
}
