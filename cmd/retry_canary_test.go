package cmd_test

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/queue"
)

// applying is a retry --apply that runs beside the test.
type applyingPlan struct {
	*exec.Cmd
	t   *testing.T
	out *strings.Builder
}

func (c *cli) applies(args ...string) *applyingPlan {
	c.t.Helper()
	p := &applyingPlan{exec.Command(c.find("todoctl"), append([]string{"retry", "--apply", "plan", "--yes", "-o", "json"}, args...)...), c.t, &strings.Builder{}}
	p.Dir, p.Env, p.Stdout, p.Stderr = c.dir, c.env, p.out, io.Discard
	if err := p.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = p.Process.Kill() })
	return p
}

// ends waits for its end and returns what it answered.
func (p *applyingPlan) ends(code int) queue.Applied {
	p.t.Helper()
	_ = p.Wait() // how it ended is asked for below
	if got := p.ProcessState.ExitCode(); got != code {
		p.t.Fatalf("exit %d, want %d: %s", got, code, p.out)
	}
	return decode[queue.Applied](p.t, p.out.String())
}

// planned makes dead letters and a plan of all of them.
func planned(t *testing.T, n int) (*cli, *pgx.Conn) {
	t.Helper()
	c, conn, _ := withDB(t)
	deadLetters(t, conn, n)
	c.ok("retry", "--all", "--plan", "plan", "--quiet")
	return c, conn
}

// The canaries are moved first and nothing else before they have ended; then the rest is.
func TestRetryCanariesAreAwaited(t *testing.T) {
	t.Parallel()
	c, conn := planned(t, 50)
	moved := func() int { return pgValue[int](t, conn, "SELECT count(*) FROM moves") }
	args := []string{"--canary", "6", "--stop-if", "failed>20%"}
	p := c.applies(args...)
	waitUntil(t, "the canaries are moved", func() bool { return moved() == 6 })
	// Five are done and the sixth is held: it has not ended, and whoever else applies the plan waits for it as well.
	if r := c.sh("sh", "for q in q0 q0 q1 q1 q1; do todoctl complete \"$(todoctl claim -q $q -o receipt)\" --quiet || exit; done"); r.code != 0 {
		t.Fatal(r)
	}
	receipt := c.ok("claim", "-q", "q0", "-o", "receipt")
	if a := c.fails(7, append([]string{"retry", "--apply", "plan", "--yes", "-o", "json", "--canary-timeout", "1s"}, args...)...); !strings.Contains(a.out, `"changed":0`) ||
		!strings.Contains(a.out, `"stopped":"1 of 6 canaries have not ended after 1s"`) || !strings.Contains(a.err, "the same command goes on") {
		t.Errorf("a second one: %s%s", a.out, a.err)
	}
	if n := moved(); n != 6 {
		t.Fatalf("%d are moved before the canaries have ended", n)
	}
	// It fails once: one of six is no more than a fifth.
	c.ok("fail", receipt, "--error", "again", "--quiet")
	if a := p.ends(0); a.Changed != 50 || a.Stopped != nil {
		t.Errorf("%+v", a)
	}
	if got := movesOf(t, conn); got != "50 of 50" {
		t.Errorf("moves: %s", got)
	}
}

// Too many failures stop it: among the canaries before anything else is moved, later among what has ended by then.
func TestRetryStopsWhenTooManyFail(t *testing.T) {
	t.Parallel()
	c, conn := planned(t, 200)
	p := c.applies("--canary", "4", "--stop-if", "failed>25%")
	waitUntil(t, "the canaries are moved", func() bool { return pgValue[int](t, conn, "SELECT count(*) FROM moves") == 4 })
	if r := c.sh("sh", "for q in q0 q1; do todoctl fail \"$(todoctl claim -q $q -o receipt)\" --error x --quiet || exit; done"); r.code != 0 {
		t.Fatal(r)
	}
	if a := p.ends(7); a.Changed != 4 || a.Stopped == nil || *a.Stopped != "2 of 4 canaries have failed" {
		t.Errorf("%+v", a)
	}
	// Without canaries: it goes on where it was, and looks at what has ended while it moves.
	p = c.applies("--stop-if", "failed>=3", "--rate", "40/s")
	waitUntil(t, "more are moved", func() bool { return pgValue[int](t, conn, "SELECT count(*) FROM moves") > 8 })
	c.ok("fail", c.ok("claim", "-q", "q0", "-o", "receipt"), "--error", "x", "--dead", "--quiet")
	a := p.ends(7)
	if a.Stopped == nil || *a.Stopped != "3 of 3 that ended have failed" || a.Already != 4 || a.Changed == 0 || a.Changed+4 >= 200 {
		t.Errorf("%+v", a)
	}
	if got := movesOf(t, conn); got != fmt.Sprintf("%d of %d", a.Changed+4, a.Changed+4) {
		t.Errorf("moves: %s, answer %+v", got, a)
	}
	// What failed is done in the end, so it goes on to the end.
	pgExec(t, conn, "UPDATE todos SET state = 'done', next_retry_at = NULL, lease_expires_at = NULL, completed_at = now() WHERE state = 'failed' AND id IN (SELECT id FROM todo_journal_rows)")
	if a := c.applies("--stop-if", "failed>=3").ends(0); a.Changed+a.Already != 200 {
		t.Errorf("%+v", a)
	}
}
