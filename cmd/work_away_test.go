//go:build unix

package cmd_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/localpg"
	"github.com/todoctl/todoctl/pkg/pgtest"
)

// ownServer is a server that the test may stop, with a migrated database.
func ownServer(t *testing.T) (c *cli, options localpg.Options, stop func()) {
	t.Helper()
	options = pgtest.Options(t)
	server := startServer(t, options)
	options.SocketDir = server.SocketDir()
	c = newCLIOn(t, server.URL("postgres"))
	c.ok("migrate", "up", "--quiet")
	return c, options, func() {
		t.Helper()
		if err := server.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

func startServer(t *testing.T, o localpg.Options) *localpg.Server {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	s, err := localpg.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func connectTo(t *testing.T, s *localpg.Server) *pgx.Conn {
	return pgtest.Connect(t, s.URL("postgres"))
}

// While the database is away the commands go on, it is said once, and what they came to is written when it is back.
func TestWorkDatabaseAway(t *testing.T) {
	t.Parallel()
	c, options, stop := ownServer(t)
	c.titled("echo $$ >child; "+untilFile("go")+`; echo '{"result":"kept"}' >&3`, untilFile("go")+"; exit 1")
	p := c.working("-c", "3", "--ttl", "1h", "--max", "4")
	child := c.pid("child")
	stop()
	waitUntil(t, "word of it", func() bool { return strings.Contains(p.errs.String(), "the database is away") })
	if !alive(child) {
		t.Error("the command was stopped")
	}
	c.touch("go")
	waitUntil(t, "the end of the command", func() bool { return !alive(child) })
	conn := connectTo(t, startServer(t, options))
	c.titled("exit 0", "exit 99") // it goes on with what comes
	r := p.end()
	if r.code != 0 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	all := rows(t, conn)
	if got := conditions(all); got != "done 1, retrying 1, done 1, delayed 0" || *all[0].Result != `"kept"` {
		t.Errorf("%s", got)
	}
	if n := strings.Count(r.err, "warning: "); n != 1 {
		t.Errorf("%d warnings:\n%s", n, r.err)
	}
}

// A lease that cannot be renewed until it is over is lost: the command is stopped, and its outcome is not written. What
// ended before is written as soon as it can be; the receipt sees to it that it is still the same lease.
func TestWorkLeaseLostWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	c, options, stop := ownServer(t)
	c.titled("trap 'echo term >told; exit 0' TERM; echo $$ >child; "+untilFile("never"), "echo $$ >brief; "+untilFile("go")+"; exit 65")
	p := c.working("-c", "2", "--ttl", "8s", "--grace", "100ms")
	child, brief := c.pid("child"), c.pid("brief")
	stop()
	c.touch("go")
	waitUntil(t, "the end of both", func() bool { return !alive(child) && !alive(brief) })
	waitUntil(t, "the word to end", func() bool { return c.wrote("told") != "" })
	conn := connectTo(t, startServer(t, options))
	waitUntil(t, "the outcome, and the lost todo's next lease", func() bool {
		all := rows(t, conn)
		return all[0].LeaseSeq == 2 && all[1].Condition == "dead"
	})
	p.tell(syscall.SIGTERM)
	r := p.end()
	if r.code != 0 || strings.Count(r.err, "warning: ") != 1 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	all := rows(t, conn)
	if got := conditions(all); got != "pending 1, dead 1" && got != "done 2, dead 1" || !strings.HasPrefix(all[0].History, "taken over lease expired") {
		t.Errorf("%s: %s", got, all[0].History)
	}
	holds(t, r.err, "lost "+all[0].ID+" q attempt 1 ", "the lease ran out before it could be renewed", "dead "+all[1].ID+" q attempt 1 ")
}

// A worker that is told to end while the database is away ends all the same; its leases run out.
func TestWorkEndsWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	c, options, stop := ownServer(t)
	c.titled("echo $$ >child; " + untilFile("never"))
	p := c.working("--ttl", "1h", "--grace", "100ms")
	child := c.pid("child")
	stop()
	p.tell(syscall.SIGTERM)
	r := p.end()
	if r.code != 0 || alive(child) {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	holds(t, r.err, "the database could not be told in time")
	if s := rows(t, connectTo(t, startServer(t, options)))[0]; s.Condition != "claimed" || s.History != "" {
		t.Errorf("%+v", s)
	}
}
