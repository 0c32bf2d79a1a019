package cmd_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/queue"
)

// kill makes a dead letter and returns its id.
func (c *cli) kill(queue string, flags ...string) string {
	c.t.Helper()
	id := c.ok(append([]string{"enqueue", "-q", queue, "-o", "id"}, flags...)...)
	c.ok("bury", id, "--reason", "no such customer")
	return id
}

// TestCaseC070RetryWithoutTheFilterThatWasMeant gives retry no filter, a misspelt one and an empty one:
// nothing comes back but what was named.
func TestCaseC070RetryWithoutTheFilterThatWasMeant(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	invoice := c.kill("billing", "--kind", "invoice")
	for range 3 {
		c.kill("billing", "--kind", "reminder")
	}
	for _, args := range [][]string{
		{"retry"},
		{"retry", "--all"},
		{"retry", "--queue", "billing"},
		{"retry", "--queue", "billing", "--kind", "", "--all", "--yes"},
		{"retry", "--queue", "", "--yes"},
		{"retry", "--queue", "billing,", "--yes"},
		{"retry", "--kind=", "--yes"},
		{"retry", "--error", "", "--yes"},
		{"retry", "--since", "", "--yes"},
		{"retry", "--payload", "", "--yes"},
		{"retry", "--state", "done", "--yes"},
		{"retry", "--kinds", "invoice", "--yes"},
		{"retry", invoice, "--kind", "invoice", "--yes"},
		{"retry", "", "--yes"},
	} {
		r := c.fails(2, args...)
		if r.out != "" || !strings.HasPrefix(r.err, "todoctl: ") {
			t.Errorf("%q: stdout %q, stderr %q", args, r.out, r.err)
		}
	}
	if r := c.fails(2, "retry", "--queue", "billing"); !strings.Contains(r.err, "--yes") {
		t.Errorf("the refusal does not say how to confirm: %s", r.err)
	}
	r := c.run("retry", "--queue", "billng", "--all", "--yes", "-o", "json")
	if r.code != 0 || decode[queue.Sweep](t, r.out) != (queue.Sweep{Verb: "retry"}) || !strings.Contains(r.err, "billng is not known") {
		t.Errorf("a queue that is not there: exit %d, %s%s", r.code, r.out, r.err)
	}
	// The case also has the dry run list ids; the contract's answer is counts, and dead-letters lists.
	plan := c.ok("retry", "--queue", "billing", "--kind", "invoice", "--dry-run", "-o", "json")
	if decode[queue.Sweep](t, plan) != (queue.Sweep{Verb: "retry", Matched: 1}) {
		t.Errorf("dry run: %s", plan)
	}
	if got := c.ok("dead-letters", "--queue", "billing", "--kind", "invoice", "-o", "id"); got != invoice {
		t.Errorf("the same filter lists %q, want %s", got, invoice)
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state = 'failed' AND next_retry_at IS NULL"); n != 4 {
		t.Fatalf("%d dead letters are left, want all 4", n)
	}
	done := c.ok("retry", "--queue", "billing", "--kind", "invoice", "--yes", "-o", "json")
	if s := decode[queue.Sweep](t, done); s.Op == nil || s != (queue.Sweep{Op: s.Op, Verb: "retry", Matched: 1, Changed: 1}) {
		t.Errorf("retry: %s", done)
	}
}

// TestCaseC071FreshBudget retries a todo that died at its cap: it has all its attempts again, and what
// happened before stays readable.
func TestCaseC071FreshBudget(t *testing.T) {
	t.Parallel()
	c, _, _ := withDB(t)
	id := c.ok("enqueue", "-q", "q", "1")
	for range 5 {
		c.ok("fail", c.ok("claim", id, "-o", "receipt"), "--error", "smtp 451", "--retry-in", "0s")
	}
	if got := c.ok("show", id, "--jq", "[.condition, .attempt, .max_attempts]"); got != `["dead",5,5]` {
		t.Fatalf("before: %s", got)
	}
	c.ok("retry", id)
	if got := c.ok("show", id, "--jq", "[.condition, .attempt, .max_attempts, .error, .completed_at]"); got != `["pending",0,5,"smtp 451",null]` {
		t.Errorf("after the retry: %s", got)
	}
	c.ok("fail", c.ok("claim", id, "-o", "receipt"), "--error", "smtp 550")
	if got := c.ok("show", id, "--jq", "[.condition, .attempt, .max_attempts, .error]"); got != `["retrying",1,5,"smtp 550"]` {
		t.Errorf("after one more failure: %s", got)
	}
	// Where the case counts retries in a column, the history shows them: attempt begins anew, the lease does not.
	if got := c.ok("show", id, "--jq", `[.history[] | "\(.lease_seq)/\(.attempt)"] | join(" ")`); got != "1/1 2/2 3/3 4/4 5/5 6/1" {
		t.Errorf("history: %s", got)
	}
	c.ok("bury", id)
	c.ok("retry", id, "--max-attempts", "9")
	if got := c.ok("show", id, "--jq", "[.attempt, .max_attempts]"); got != "[0,9]" {
		t.Errorf("with a new cap: %s", got)
	}
}

// states returns what changes when a todo changes, by id.
func states(t *testing.T, conn *pgx.Conn) string {
	t.Helper()
	return pgValue[string](t, conn, "SELECT string_agg(id || ' ' || state || ' ' || updated_at || ' ' || attempt, e'\n' ORDER BY id) FROM todos")
}

// TestCaseC073RetryOfWhatIsNotDead names todos in every condition: the dead and the waiting one come
// back, the others are refused, each for its own reason.
func TestCaseC073RetryOfWhatIsNotDead(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	pending := c.ok("enqueue", "-q", "q", "1")
	claimed, done, waiting := c.ok("enqueue", "-q", "q", "2"), c.ok("enqueue", "-q", "q", "3"), c.ok("enqueue", "-q", "q", "4")
	dead := c.kill("q")
	c.ok("claim", claimed)
	c.ok("complete", c.ok("claim", done, "-o", "receipt"))
	c.ok("fail", c.ok("claim", waiting, "-o", "receipt"))
	const none = "td_none"
	r := c.fails(7, "retry", pending, claimed, done, dead, waiting, none, "-o", "json")
	type row struct {
		ID        string
		Condition string
		Error     *struct{ Code, Message string }
	}
	var got []string
	for _, x := range decode[[]row](t, r.out) {
		code := "ok"
		if x.Error != nil {
			code = x.Error.Code
		}
		got = append(got, x.ID+" "+x.Condition+" "+code)
	}
	want := []string{pending + " pending conflict", claimed + " claimed conflict", done + " done conflict", dead + " pending ok",
		waiting + " pending ok", none + "  not-found"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	e := decode[struct {
		Error struct {
			Code                     string
			Done, Conflict, NotFound int `json:",omitempty"`
		}
	}](t, r.err).Error
	if e.Code != "partial" || e.Done != 2 || e.Conflict != 3 {
		t.Errorf("stderr: %s", r.err)
	}
	if got := c.ok("list", "--state", "all", "--jq", `[.[] | .condition] | join(" ")`); got != "pending claimed done pending pending" {
		t.Errorf("the queue now: %s", got)
	}
	before := states(t, conn)
	c.fails(4, "retry", pending)
	c.fails(4, "retry", pending, claimed, done)
	c.fails(5, "retry", none)
	c.fails(5, "retry", none, "td_neither")
	if after := states(t, conn); after != before {
		t.Errorf("a refused retry changed\n%s\nto\n%s", before, after)
	}
}

// TestCaseC075IDsFromAFile reads ids from standard input as editors on other systems and careless
// scripts leave them. Where the case says --ids-file -, the contract says -; and it makes no lines at
// all 0 of 0, where the case would refuse them.
func TestCaseC075IDsFromAFile(t *testing.T) {
	t.Parallel()
	c, _, _ := withDB(t)
	a, b := c.kill("q"), c.kill("q")
	r := c.pipe(a+"\r\n\n "+b+" \n"+a+"\n", "retry", "-", "--jq", ".[] | .id, .condition, .error")
	if want := a + "\npending\nnull\n" + b + "\npending\nnull\n"; r.code != 0 || r.out != want || r.err != "" {
		t.Errorf("exit %d, got %q, want %q, stderr %q", r.code, r.out, want, r.err)
	}
	for _, in := range []string{"", "\r\n\n  \n"} {
		if r := c.pipe(in, "retry", "-", "-o", "json"); r.code != 0 || r.out != "[]\n" || r.err != "" {
			t.Errorf("without an id: exit %d, stdout %q, stderr %q", r.code, r.out, r.err)
		}
	}
	c.ok("bury", a)
	r = c.pipe(a+"\n"+strings.Repeat("x", 300)+"\n"+b+"@first\n", "retry", "-")
	if r.code != 6 || !strings.Contains(r.err, "line 2") || !strings.Contains(r.err, "line 3") || r.out != "" {
		t.Errorf("lines that are no ids: exit %d, %s%s", r.code, r.out, r.err)
	}
	if got := c.ok("show", a, "--jq", ".condition"); got != "dead" {
		t.Errorf("a bad line among them, and %s is %s all the same", a, got)
	}
}
