//go:build unix

package cmd_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/pgnet"
)

// waiters counts the connections of a command that wait for the client, and holds the test to it that none of them has a
// transaction open.
func waiters(t *testing.T, conn *pgx.Conn, command string) int {
	t.Helper()
	if n := pgValue[int](t, conn, `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()
		AND state LIKE 'idle in transaction%'`, "todoctl "+command); n != 0 {
		t.Errorf("%d transactions of todoctl %s are open", n, command)
	}
	return pgValue[int](t, conn, `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()
		AND state = 'idle' AND xact_start IS NULL`, "todoctl "+command)
}

// listening says that somebody waits with a bell: the waiters are noted, and the connections are at rest.
func listening(t *testing.T, conn *pgx.Conn, name, command string) bool {
	t.Helper()
	return pgValue[int](t, conn, "SELECT count(*) FROM waiters WHERE name = $1 AND until > now()", name) > 0 && waiters(t, conn, command) == 2
}

// claim --wait takes what comes; it holds no transaction, and nobody is noted as waiting afterwards.
func TestClaimWait(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	p := c.start("todoctl", "claim", "-q", "other,q", "--wait", "10m", "-o", "receipt")
	waitUntil(t, "a bell", func() bool { return listening(t, conn, "q", "claim") })
	id := c.ok("enqueue", "-q", "q")
	if r := p.end(); r.code != 0 || r.out != id+"@1\n" || r.err != "" {
		t.Errorf("exit %d, %q, %q", r.code, r.out, r.err)
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM waiters"); n != 0 {
		t.Errorf("%d are still noted as waiting", n)
	}
	// Nothing came: exit 3, and the reason.
	r := c.fails(3, "claim", "-q", "q", "--wait", "50ms", "-o", "json")
	holds(t, r.err, `"reason":"none"`)
	// What is delayed is taken when it is due, without anybody's word.
	late := c.ok("enqueue", "-q", "q", "--delay", "300ms")
	if got := c.ok("claim", "-q", "q", "--wait", "10m", "-o", "id"); got != late {
		t.Errorf("claimed %s", got)
	}
}

// With --no-listen, and where notifications do not arrive, it looks again now and then. The latter is said, once.
func TestClaimWaitWithoutNotifications(t *testing.T) {
	t.Parallel()
	c, conn, url := withDB(t)
	proxy := pgnet.NewProxy(t, url)
	proxy.DropNotifications()
	for name, x := range map[string]struct {
		c       *cli
		flags   []string
		warning string
	}{
		"--no-listen":     {c, []string{"--no-listen"}, ""},
		"behind a pooler": {c.on(proxy.URL()), nil, "warning: looking again now and then instead of being notified: notifications do not arrive, as behind a transaction pooler\n"},
	} {
		for _, command := range []string{"claim", "wait", "work"} {
			id := c.ok("enqueue", "-q", "q", "--delay", "1h")
			args := map[string][]string{"claim": {"claim", "-q", "q", "--wait", "10m", "-o", "id"}, "wait": {"wait", id, "-o", "id"},
				"work": {"work", "-q", "q", "--max", "1", "--quiet", "--", "true"}}[command]
			if command == "work" && x.warning != "" {
				args = []string{"work", "-q", "q", "--max", "1", "--", "true"}
			}
			p := x.c.start(append(append([]string{"todoctl", args[0]}, x.flags...), args[1:]...)...)
			waitUntil(t, "its waiting", func() bool { return waiters(t, conn, command) == 1 && (x.warning == "" || p.errs.String() != "") })
			if n := pgValue[int](t, conn, "SELECT count(*) FROM waiters"); n != 0 {
				t.Errorf("%s, %s: %d are noted as waiting", name, command, n)
			}
			if command == "wait" {
				c.ok("bury", id, "--quiet")
			} else {
				c.ok("bump", "--front", id, "--quiet")
			}
			r := p.end()
			if want := map[string]int{"claim": 0, "wait": 7, "work": 0}[command]; r.code != want {
				t.Errorf("%s, %s: exit %d\n%s", name, command, r.code, r.err)
			}
			if n := strings.Count(r.err, "warning: "); n != strings.Count(x.warning, "warning: ") || !strings.HasPrefix(r.err, x.warning) {
				t.Errorf("%s, %s: stderr %q", name, command, r.err)
			}
			pgExec(t, conn, "DELETE FROM todos")
		}
	}
}

// A worker waits as quietly, and takes what comes.
func TestWorkWaits(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	p := c.start("todoctl", "work", "-q", "q", "--max", "2", "--", "true")
	waitUntil(t, "a bell", func() bool { return listening(t, conn, "q", "work") })
	c.ok("enqueue", "-q", "q", "--quiet")
	waitUntil(t, "the first", func() bool { return pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state = 'done'") == 1 })
	c.ok("enqueue", "-q", "q", "--quiet")
	if r := p.end(); r.code != 0 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM waiters"); n != 0 {
		t.Errorf("%d are still noted as waiting", n)
	}
	// A drain waits for nothing that is to come: enqueue must not pay for it.
	c.ok("enqueue", "-q", "q", "--quiet")
	p = c.start("todoctl", "work", "-q", "q", "-c", "2", "--drain", "--", "sh", "-c", untilFile("go"))
	waitUntil(t, "its waiting for the command", func() bool {
		return pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state = 'claimed'") == 1 && waiters(t, conn, "work") == 1
	})
	if n := pgValue[int](t, conn, "SELECT count(*) FROM waiters"); n != 0 {
		t.Errorf("a drain is noted as waiting %d times", n)
	}
	c.touch("go")
	if r := p.end(); r.code != 0 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
}

// wait tells by its exit status how the todos ended.
func TestWait(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	one, two, three := c.ok("enqueue", "-q", "q"), c.ok("enqueue", "-q", "q"), c.ok("enqueue", "-q", "q")
	c.fails(124, "wait", one, "--timeout", "300ms").says(t, "the timeout ran out before the todos had ended")
	c.fails(124, "claim", "-q", "none", "--wait", "1h", "--timeout", "300ms").says(t, "the timeout ran out before there was something to claim")
	both, either := c.start("todoctl", "wait", one, two, "-o", "json"), c.start("todoctl", "wait", "--any", one, two)
	waitUntil(t, "two bells", func() bool {
		return pgValue[int](t, conn, "SELECT count(*) FROM waiters WHERE name = $1", two) == 2 && waiters(t, conn, "wait") == 4
	})
	c.ok("complete", c.ok("claim", one, "-o", "receipt"), "--quiet")
	if r := either.end(); r.code != 0 {
		t.Errorf("--any: exit %d\n%s", r.code, r.err)
	}
	// A failure that is tried again is no end.
	c.ok("fail", c.ok("claim", two, "-o", "receipt"), "--quiet")
	select {
	case <-both.done:
		t.Fatal("wait took a failure for an end")
	default:
	}
	c.ok("bury", two, "--quiet")
	r := both.end()
	if r.code != 7 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	if list := decode[[]struct{ ID, Condition string }](t, r.out); len(list) != 2 || list[0].ID != one || list[0].Condition != "done" || list[1].Condition != "dead" {
		t.Errorf("%s", r.out)
	}
	holds(t, r.err, "1 of 2 todos are dead letters")
	c.ok("wait", one)
	c.ok("wait", one+"@1") // a receipt names its todo
	c.ok("wait", "--any", one, two, three)
	c.fails(7, "wait", "--any", two, three)
	c.fails(5, "wait", "td_none")
	c.fails(7, "wait", one, "td_none")
	c.fails(2, "wait")
	c.fails(2, "wait", "")
	if n := pgValue[int](t, conn, "SELECT count(*) FROM waiters"); n != 0 {
		t.Errorf("%d are still noted as waiting", n)
	}
}
