//go:build unix

package cmd_test

import (
	"strings"
	"syscall"
	"testing"
)

// reap --every waits for a database that is away, says so once, goes on when it is back, and ends in order.
func TestReapEveryWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	c, options, stop := ownServer(t)
	c.ok("enqueue", "-q", "q", "--quiet")
	p := c.start("todoctl", "reap", "--every", "1s", "-o", "jsonl")
	lapse := func() {
		t.Helper()
		c.ok("claim", "-q", "q", "--ttl", "1s", "--quiet")
	}
	lapse()
	waitUntil(t, "a sweep", func() bool { return strings.Count(p.out.String(), `"requeued":1`) == 1 })
	stop()
	waitUntil(t, "word of it", func() bool { return p.errs.String() != "" })
	startServer(t, options)
	lapse()
	waitUntil(t, "another sweep", func() bool { return strings.Count(p.out.String(), `"requeued":1`) == 2 })
	p.tell(syscall.SIGTERM)
	if r := p.end(); r.code != 0 || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, "trying again") {
		t.Errorf("exit %d, stderr %q", r.code, r.err)
	}
}
