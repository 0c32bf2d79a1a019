package cmd_test

import (
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

// --read-replica reads from the standby among the hosts of the URL, tells how far behind it is, and goes to the
// primary where no standby answers.
func TestReadReplica(t *testing.T) {
	t.Parallel()
	primary, c := replicated(t)
	replica := standby(t, primary)
	id := c.ok("enqueue", "-q", "q")
	reader := pgtest.Connect(t, replica.URL("postgres"))
	waitUntil(t, "replication", func() bool { return pgValue[bool](t, reader, "SELECT EXISTS (SELECT 1 FROM todos WHERE id = $1)", id) })
	pgExec(t, reader, "SELECT pg_wal_replay_pause()")
	waitUntil(t, "the pause", func() bool { return pgValue[string](t, reader, "SELECT pg_get_wal_replay_pause_state()") == "paused" })
	c.ok("enqueue", "-q", "q")

	both := c.on(asKeys(t, primary.URL("postgres"), "host", primary.SocketDir()+","+replica.SocketDir(), "port", "5432,5432"))
	if n := strings.Count(both.ok("list"), "\n"); n != 1 {
		t.Errorf("without the flag %d todos are listed, not both of the primary's", n+1)
	}
	for _, args := range [][]string{{"list"}, {"list", "-o", "id"}} {
		if out := both.ok(append(args, "--read-replica")...); !strings.HasPrefix(out, id) || strings.Contains(out, "\n") {
			t.Errorf("%q: %q is not what the standby has", args, out)
		}
	}
	for _, args := range [][]string{{"show", id}, {"queues"}, {"dead-letters", "groups"}, {"check"}, {"export"}, {"why", id}, {"crashes"}, {"owners"}, {"leases", "advise"}} {
		both.ok(append(args, "--read-replica")...)
	}
	if r := both.tty(200, "list", "--read-replica"); !strings.Contains(r.out, "reading from the standby "+replica.SocketDir()) || !strings.Contains(r.out, " behind") {
		t.Errorf("what a person is told: %q", r.out)
	}
	c.fails(2, "list", "--read-replica").says(t, "names one server", "host=db1,db2")
	if err := replica.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := both.tty(200, "list", "--read-replica"); r.code != 0 || !strings.Contains(r.out, "no standby answers; reading from the primary") {
		t.Errorf("without the standby: exit %d, %q", r.code, r.out)
	}
}
