//go:build unix

package cmd_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// working starts a worker over queue q that does what the titles say.
func (c *cli) working(flags ...string) *proc {
	c.t.Helper()
	return c.start(append(append([]string{"todoctl", "work", "-q", "q"}, flags...), obey()...)...)
}

// tell sends a signal to a process.
func (p *proc) tell(sig syscall.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(sig); err != nil {
		p.t.Fatal(err)
	}
}

// conditions are those of the todos, in order, with the attempts spent.
func conditions(list []row) string {
	var all []string
	for _, s := range list {
		all = append(all, fmt.Sprintf("%s %d", s.Condition, s.Attempt))
	}
	return strings.Join(all, ", ")
}

func TestWorkDrain(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	if r := c.drain("--", "false"); r.code != 0 || r.out != "" || r.err != "" {
		t.Errorf("an empty queue: exit %d, %q", r.code, r.err)
	}
	// What becomes claimable while others run belongs to the drain; what waits does not.
	c.titled(
		`[ -e again ] || { touch again; echo '{"retry_in":"0s"}' >&3; exit 1; }`,
		untilFile("again")+"; todoctl enqueue -q q --title 'touch late' --quiet",
		`exit 75`)
	r := c.drain(append([]string{"-c", "2", "--keep-env", "TODOCTL_DATABASE_URL"}, obey()...)...)
	if r.code != 7 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	if got := conditions(rows(t, conn)); got != "done 2, done 1, retrying 1, done 1" {
		t.Errorf("%s\n%s", got, r.err)
	}
	holds(t, r.err, "3 done, 2 failed, 0 released, 0 lost")
	if r := c.drain("--on-failed-exit", "5", "--", "false"); r.code != 0 { // nothing failed, since nothing was due
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
}

func TestWorkMaxAndIdle(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled("exit 0", "exit 99", "exit 0", "exit 0", "exit 0")
	if r := c.run(append([]string{"work", "-q", "q", "-c", "2", "--max", "3"}, obey()...)...); r.code != 0 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	all := rows(t, conn)
	if got := conditions(all); got != "done 1, delayed 0, done 1, pending 0, pending 0" || all[3].LeaseSeq != 0 {
		t.Errorf("after --max 3: %s", got)
	}
	// A worker that runs something is not idle, however long that takes.
	c.titled("sleep 0.5")
	if r := c.run(append([]string{"work", "-q", "q", "-c", "2", "--idle", "200ms"}, obey()...)...); r.code != 0 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	if got := conditions(rows(t, conn)); got != "done 1, delayed 0, done 1, done 1, done 1, done 1" {
		t.Errorf("after --idle: %s", got)
	}
	for _, bad := range [][]string{{"--max", "0"}, {"--max", "-1"}, {"-c", "0"}, {"-c", "1001"}, {"--batch", "0"}, {"--batch", "501"}, {"--on-failed-exit", "256"},
		{"--idle", "5"}, {"--grace", "-1s"}, {"--ttl", "500ms"}, {"--ttl", "8d"}} {
		r := c.run(append(append([]string{"work", "-q", "q"}, bad...), "--", "true")...)
		if r.code != 2 || !strings.Contains(r.err, strings.TrimPrefix(bad[0], "-")) {
			t.Errorf("%v: exit %d\n%s", bad, r.code, r.err)
		}
	}
	c.fails(2, "work", "-q", "q")
	holds(t, c.fails(2, "work", "--", "true").err, "-q NAME")
}

// The first signal ends in order: what runs has the grace time, what does not end by then is stopped and given back with
// its attempt, nothing new is claimed, and the exit status is 0.
func TestWorkFirstSignal(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			c, conn, _ := withDB(t)
			c.titled("touch one; "+untilFile("go")+"; exit 0", "touch two; "+untilFile("go")+"; exit 65", "trap 'exit 3' TERM; touch three; while :; do sleep 0.02; done",
				"trap '' TERM; touch four; while :; do sleep 0.02; done", "touch five")
			p := c.working("-c", "4", "--grace", "3s")
			for _, name := range []string{"one", "two", "three", "four"} {
				waitUntil(t, name, func() bool { return c.made(name) })
			}
			p.tell(sig)
			time.Sleep(500 * time.Millisecond) // one that has not heard of it yet may claim what there is room for
			c.touch("go")
			if r := p.end(); r.code != 0 {
				t.Errorf("exit %d\n%s", r.code, r.err)
			}
			all := rows(t, conn)
			if got := conditions(all); got != "done 1, dead 1, pending 0, pending 0, pending 0" {
				t.Errorf("%s", got)
			}
			if all[2].History != "released the worker was told to end" || all[4].LeaseSeq != 0 {
				t.Errorf("%+v", all[2:])
			}
			if n := pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state = 'pending' AND run_at > now()"); n != 0 {
				t.Errorf("%d of those that were given back have to wait", n)
			}
		})
	}
}

// A second signal ends at once, and the commands end with the worker. Their leases run out.
func TestWorkSecondSignal(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled("trap '' TERM; sleep 300 & echo $! >grandchild; echo $$ >child; wait")
	p := c.working("--grace", "1h")
	child, grandchild := c.pid("child"), c.pid("grandchild")
	for ended := false; !ended; { // a signal that meets the handling of the one before is lost in it
		_ = p.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.done:
			ended = true
		case <-time.After(20 * time.Millisecond):
		}
	}
	if got := p.ProcessState.Sys().(syscall.WaitStatus); !got.Signaled() || got.Signal() != syscall.SIGTERM {
		t.Errorf("the worker ended with %v", p.ProcessState)
	}
	waitUntil(t, "the end of the commands", func() bool { return !alive(child) && !alive(grandchild) })
	if s := rows(t, conn)[0]; s.Condition != "claimed" || s.History != "" {
		t.Errorf("%+v", s)
	}
}

// A worker that is killed takes its commands with it, and what they had started. Its todos come back when the leases are
// over, and are done once.
func TestWorkKilled(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	work := `echo $TODO_ATTEMPT >>runs; [ $TODO_ATTEMPT = 2 ] && exit; sleep 300 & echo $! >grandchild$TODO_KEY; echo $$ >child$TODO_KEY; wait`
	for _, key := range []string{"A", "B"} {
		c.ok("enqueue", "-q", "q", "--title", work, "--key", key, "--quiet")
	}
	p := c.working("-c", "2", "--ttl", "1h", "--owner", "first")
	var pids []int
	for _, name := range []string{"childA", "grandchildA", "childB", "grandchildB"} {
		pids = append(pids, c.pid(name))
	}
	p.tell(syscall.SIGKILL)
	p.end()
	for _, pid := range pids {
		waitUntil(t, "the end of the commands", func() bool { return !alive(pid) })
	}
	if r := c.drain(obey()...); r.code != 0 || r.err != "" {
		t.Errorf("while the leases run: exit %d\n%s", r.code, r.err)
	}
	expire(t, conn)
	if r := c.drain(append([]string{"--owner", "second"}, obey()...)...); r.code != 0 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	for _, s := range rows(t, conn) {
		if s.Condition != "done" || s.Attempt != 2 || *s.Owner != "second" || s.History != "taken over lease expired" {
			t.Errorf("%+v", s)
		}
	}
	if got := c.wrote("runs"); got != "1\n1\n2\n2\n" {
		t.Errorf("runs %q", got)
	}
}

// A lease that is lost stops the command and all that it started, and nothing is written; the worker goes on.
func TestWorkLostLease(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled("trap '' TERM; (trap '' TERM; sleep 300) & echo $! >grandchild; echo $$ >child; wait; wait; sleep 300", "exit 0")
	p := c.working("--ttl", "1s", "--max", "2", "--owner", "A")
	child, grandchild := c.pid("child"), c.pid("grandchild")
	id := rows(t, conn)[0].ID
	c.ok("bury", id, "--force", "--reason", "an operator's word", "--quiet")
	r := p.end()
	if r.code != 0 || alive(child) || alive(grandchild) {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	holds(t, r.err, "lost "+id+" q attempt 1 ", "the lease has ended (buried)")
	all := rows(t, conn)
	if got := conditions(all); got != "dead 1, done 1" || all[0].History != "buried an operator's word" {
		t.Errorf("%s, %s", got, all[0].History)
	}
}

// A worker that was suspended past its lease, which nobody took, still has it: it finds out before it writes.
func TestWorkSuspendedAndNobodyTookIt(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled("echo $$ >child; " + untilFile("go"))
	p := c.working("--ttl", "1s", "--drain")
	child := c.pid("child")
	p.tell(syscall.SIGSTOP)
	waitUntil(t, "the end of the lease", func() bool { return rows(t, conn)[0].Condition == "expired" })
	p.tell(syscall.SIGCONT)
	waitUntil(t, "a new lease", func() bool { return rows(t, conn)[0].Condition == "claimed" })
	if !alive(child) {
		t.Error("the command was stopped")
	}
	c.touch("go")
	if r := p.end(); r.code != 0 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	if s := rows(t, conn)[0]; s.Condition != "done" || s.LeaseSeq != 1 || s.History != "" {
		t.Errorf("%+v", s)
	}
}

// A row that somebody else holds locked costs the others nothing, and itself nothing while its lease lasts.
func TestWorkRenewsBesideALockedRow(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled(untilFile("go"), untilFile("go"))
	p := c.working("-c", "2", "--ttl", "6s", "--drain")
	waitUntil(t, "two leases", func() bool { return conditions(rows(t, conn)) == "claimed 1, claimed 1" })
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	before := rows(t, conn)
	if _, err := tx.Exec(t.Context(), "SELECT 1 FROM todos WHERE id = $1 FOR UPDATE", before[0].ID); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "a renewal of the other", func() bool {
		var lease time.Time
		if err := tx.QueryRow(t.Context(), "SELECT lease_expires_at FROM todos WHERE id = $1", before[1].ID).Scan(&lease); err != nil {
			t.Fatal(err)
		}
		return lease.After(*before[1].Lease)
	})
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "a renewal of the first", func() bool { return rows(t, conn)[0].Lease.After(*before[0].Lease) })
	c.touch("go")
	if r := p.end(); r.code != 0 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
}

// However fast a command talks, it is heard out, and neither it nor the worker is held up.
func TestWorkFlood(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled(`yes '{"progress":5,"extend":"1h"}' | head -n 60000 >&3; echo '{"result":"heard"}' >&3`,
		`yes '{"error":"x"}' | head -n 30000 >&3; head -c 3000000 /dev/urandom >&2; exit 1`,
		`(while :; do echo '{"progress":1}' >&3; done) & echo $! >left; echo '{"result":"not waited for"}' >&3`)
	if r := c.drain(append([]string{"-c", "3"}, obey()...)...); r.code != 7 {
		t.Errorf("exit %d\n%.500s", r.code, r.err)
	}
	_ = syscall.Kill(c.pid("left"), syscall.SIGKILL)
	all := rows(t, conn)
	if conditions(all) != "done 1, retrying 1, done 1" || *all[0].Result != `"heard"` || *all[1].Error != "x" || *all[2].Result != `"not waited for"` {
		t.Errorf("%s", conditions(all))
	}
}

// A worker whose log nobody reads any more goes on; its todos are worth more than its lines.
func TestWorkWithoutAReader(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	var titles []string
	for range 20 {
		titles = append(titles, "echo something; echo else >&2")
	}
	c.titled(titles...)
	r := c.sh("sh", `{ todoctl work -q q -c 2 --drain -- sh -c 'eval "$TODO_TITLE"' 2>&1; echo $? >status; } | head -n 1`)
	if r.out == "" {
		t.Errorf("%+v", r)
	}
	waitUntil(t, "the worker's end", func() bool { return c.wrote("status") != "" })
	if got := c.wrote("status"); got != "0\n" {
		t.Errorf("exit %s", got)
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state = 'done'"); n != 20 {
		t.Errorf("%d of 20 are done", n)
	}
}

// --timeout ends a worker in order as a signal does, but with a status of its own.
func TestWorkTimeout(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled("touch started; " + untilFile("never"))
	r := c.run(append([]string{"work", "-q", "q", "--timeout", "5s", "--grace", "100ms"}, obey()...)...)
	if r.code != 124 || !c.made("started") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	if s := rows(t, conn)[0]; s.Condition != "pending" || s.Attempt != 0 {
		t.Errorf("%+v", s)
	}
}

// A command that cannot run lets those finish that do; they are not at fault.
func TestWorkCannotStartAnyMore(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled("touch running; "+untilFile("go"), untilFile("running")+"; exit 127", "exit 0")
	p := c.working("-c", "2", "--grace", "1h")
	waitUntil(t, "the end of the second", func() bool { return rows(t, conn)[1].History != "" })
	c.touch("go")
	if r := p.end(); r.code != 127 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	if got := conditions(rows(t, conn)); got != "done 1, pending 0, pending 0" {
		t.Errorf("%s", got)
	}
}
