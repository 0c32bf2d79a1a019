package queue

import (
	"strings"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Who may touch a lease: the receipt names one lease, a bare id goes by the owner.
func TestLeaseGuards(t *testing.T) {
	verbs := map[string]func(c *Client, t *testing.T, p LeaseParams) ([]Result, error){
		"heartbeat": func(c *Client, t *testing.T, p LeaseParams) ([]Result, error) {
			return c.Heartbeat(t.Context(), p, time.Hour)
		},
		"complete": func(c *Client, t *testing.T, p LeaseParams) ([]Result, error) { return c.Complete(t.Context(), p, nil) },
		"fail": func(c *Client, t *testing.T, p LeaseParams) ([]Result, error) {
			return c.Fail(t.Context(), p, FailParams{Error: "x"})
		},
		"release": func(c *Client, t *testing.T, p LeaseParams) ([]Result, error) {
			return c.Release(t.Context(), p, nil, nil)
		},
	}
	for verb, do := range verbs {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.add("q")
			first := w.takeOne("q", "a")
			w.lapse(first.ID)
			w.takeOne("q", "a") // lease 2, of the same name
			at := func(seq int) []todo.Receipt { return []todo.Receipt{{ID: first.ID, Seq: seq}} }
			before := w.text("SELECT row_to_json(todos)::text FROM todos")
			for name, p := range map[string]LeaseParams{
				"an older receipt":                    {Receipts: at(1)},
				"an older receipt and the right name": {Receipts: at(1), Owner: "a", Named: true},
				"an older receipt by force":           {Receipts: at(1), Force: true},
				"a later receipt":                     {Receipts: at(3)},
				"the receipt and another name":        {Receipts: at(2), Owner: "b", Named: true},
				"the id and another name":             {Receipts: at(0), Owner: "b"},
				"the id and no name":                  {Receipts: at(0)},
				"the id and a name in other case":     {Receipts: at(0), Owner: "A"},
			} {
				list, err := do(w.Client, t, p)
				if c := code(t, list, err); c != todo.CodeConflict {
					t.Errorf("%s: %q", name, c)
					continue
				}
				if m := list[0].Error.Message; !strings.Contains(m, "attempt 2 is a's since ") || list[0].Error.Details["owner"] == nil {
					t.Errorf("%s: %s does not say whose it is now", name, m)
				}
			}
			list, err := do(w.Client, t, LeaseParams{Receipts: []todo.Receipt{{ID: "td_none"}}, Owner: "a"})
			if c := code(t, list, err); c != todo.CodeNotFound {
				t.Errorf("an unknown id: %q", c)
			}
			if after := w.text("SELECT row_to_json(todos)::text FROM todos"); after != before {
				t.Errorf("the refused ones changed\n%s\nto\n%s", before, after)
			}
			for name, p := range map[string]LeaseParams{
				"the receipt":                    {Receipts: at(2), Owner: "b"}, // a name that nobody gave does not count
				"the receipt and its name":       {Receipts: at(2), Owner: "a", Named: true},
				"the id and its name":            {Receipts: at(0), Owner: "a"},
				"the id by force":                {Receipts: at(0), Owner: "b", Force: true},
				"the receipt by force":           {Receipts: at(2), Owner: "b", Named: true, Force: true},
				"the receipt twice and the id":   {Receipts: append(append(at(2), at(2)...), at(0)...)},
				"the receipt among unknown ones": {Receipts: append(at(2), todo.Receipt{ID: "td_none", Seq: 2})},
			} {
				w.exec(`UPDATE todos SET state = 'claimed', owner = 'a', lease_expires_at = now() + interval '1 min', lease_seq = 2, attempt = 2,
				        claimed_at = now(), next_retry_at = NULL, completed_at = NULL`)
				w.exec("DELETE FROM todo_attempts WHERE lease_seq = 2")
				list, err := do(w.Client, t, p)
				if err != nil || list[0].Error != nil || list[0].Already {
					t.Errorf("%s: %+v, %v", name, list, err)
				}
				if n := w.text("SELECT count(*)::text FROM todo_attempts WHERE lease_seq = 2"); (n == "1") != (verb == "fail" || verb == "release") {
					t.Errorf("%s: %s rows of history", name, n)
				}
			}
		})
	}
}

// The same receipt again succeeds and says so, as long as the todo's history remembers, whatever has
// become of the todo since; another verb with it does not.
func TestRepetitions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("q")
	got := w.takeOne("q", "a")
	w.done(w.Release(t.Context(), lease(got), nil, ptr("why")))
	later := w.takeOne("q", "b")
	w.done(w.Fail(t.Context(), lease(later), FailParams{Error: "x", Dead: true}))
	for name, c := range map[string]struct {
		do   func() ([]Result, error)
		want todo.Code
	}{
		"release again":      {func() ([]Result, error) { return w.Release(t.Context(), lease(got), nil, nil) }, "already"},
		"fail the released":  {func() ([]Result, error) { return w.Fail(t.Context(), lease(got), FailParams{}) }, todo.CodeConflict},
		"complete it":        {func() ([]Result, error) { return w.Complete(t.Context(), lease(got), nil) }, todo.CodeConflict},
		"heartbeat it":       {func() ([]Result, error) { return w.Heartbeat(t.Context(), lease(got), time.Hour) }, todo.CodeConflict},
		"fail again":         {func() ([]Result, error) { return w.Fail(t.Context(), lease(later), FailParams{}) }, "already"},
		"release the failed": {func() ([]Result, error) { return w.Release(t.Context(), lease(later), nil, nil) }, todo.CodeConflict},
		"fail by the id": {func() ([]Result, error) {
			return w.Fail(t.Context(), LeaseParams{Receipts: []todo.Receipt{{ID: got.ID}}, Owner: "b"}, FailParams{})
		}, todo.CodeConflict},
		"fail by another name": {func() ([]Result, error) {
			return w.Fail(t.Context(), LeaseParams{Receipts: []todo.Receipt{receipt(later)}, Owner: "c", Named: true}, FailParams{})
		}, todo.CodeConflict},
	} {
		list, err := c.do()
		if s := code(t, list, err); s != c.want {
			t.Errorf("%s: %q", name, s)
		}
	}
	sound(t.Context(), t, w.sql)
}

// A pause holds for every way to claim, ends by itself, and touches nothing else.
func TestPause(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.add("q")
	w.add("q", assignee("a"))
	pause := func(d *time.Duration) {
		if _, err := w.Pause(t.Context(), []string{"q", "q"}, d, "op", ptr("why")); err != nil {
			t.Fatal(err)
		}
	}
	pause(nil)
	p := some("q", "a", 5)
	both := p
	both.Queues = []string{"q", "r"}
	for name, claim := range map[string]func() error{
		"claim":       func() error { _, err := w.Claim(t.Context(), p); return err },
		"of queues":   func() error { _, err := w.Claim(t.Context(), both); return err },
		"claim by id": func() error { _, err := w.ClaimID(t.Context(), id, "a", time.Minute); return err },
	} {
		if err := claim(); err == nil || !strings.Contains(err.Error(), "paused") {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.exec(`INSERT INTO todos (queue, state, owner, claimed_at, lease_expires_at, lease_seq, attempt, max_attempts)
	        SELECT queue, 'claimed', 'x', now(), now(), 1, 1, 1 FROM unnest(ARRAY['q', 'r']) queue`)
	if _, err := w.Claim(t.Context(), both); err == nil || w.text("SELECT queue FROM todos WHERE state = 'failed'") != "r" {
		t.Errorf("a claim buried what is spent in a paused queue, or not in the other: %v", err)
	}
	w.exec("DELETE FROM todos WHERE owner = 'x'")
	pause(ptr(time.Hour))
	w.exec("UPDATE queues SET paused_until = now()")
	if got := w.take(p); len(got) != 2 {
		t.Errorf("after the pause %d were claimed", len(got))
	}
	pause(nil)
	if list, err := w.Resume(t.Context(), []string{"q", "unknown"}, nil); err != nil || !list[0].Changed || list[1].Changed {
		t.Errorf("resume: %+v, %v", list, err)
	}
	running, err := w.Running(t.Context(), []string{"q"})
	if err != nil || len(running) != 2 {
		t.Errorf("%d leases run, %v", len(running), err)
	}
}
