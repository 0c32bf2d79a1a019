package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// In line, live todos come in the order in which they are due, over queues and assignees, whole and page by page; leases keep the
// place that their todos had.
func TestListInLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO todos (id, queue, kind, state, assignee, idempotency_key, owner, claimed_at, run_at, lease_expires_at, completed_at, next_retry_at, attempt, lease_seq)
		SELECT 'td_' || to_char(10000 - i, 'FM00000'), 'q' || i % 7, 'k' || i % 4, CASE i % 9 WHEN 0 THEN 'done' WHEN 1 THEN 'failed' WHEN 2 THEN 'failed' WHEN 3 THEN 'claimed' WHEN 4 THEN 'claimed' ELSE 'pending' END,
		       CASE WHEN i % 5 = 0 THEN 'x' || i % 2 END, 'k' || i, CASE WHEN i % 9 < 5 THEN 'o' || i % 2 END, CASE WHEN i % 9 < 5 THEN now() END,
		       now() + (i % 400 - 300) * interval '1 min', CASE i % 9 WHEN 3 THEN now() + interval '1 h' + i * interval '1 s' WHEN 4 THEN now() - i * interval '1 s' END,
		       CASE WHEN i % 9 < 2 THEN now() END, CASE WHEN i % 9 = 2 THEN now() + (i % 400 - 300) * interval '1 min' END, 1, 1
		  FROM generate_series(1, 3000) i`)
	w.exec("INSERT INTO todos (id, queue, run_at) VALUES ('td_first', 'q1', '-infinity'), ('td_last', 'q1', 'infinity')")
	live := []todo.Condition{todo.IsPending, todo.IsDelayed, todo.IsClaimed, todo.IsExpired, todo.IsRetrying}
	// Leases that end later than a hundred others of their queue and assignee stand where they end.
	const place = `CASE WHEN state = 'claimed' AND lease_expires_at > now() AND (SELECT count(*) FROM todos o WHERE o.queue = todos.queue AND
		o.assignee IS NOT DISTINCT FROM todos.assignee AND o.available_at > now() AND (o.available_at, o.id) < (todos.available_at, todos.id)) < 100
		THEN run_at ELSE available_at END`
	for where, f := range map[string]Filter{
		"true":                  {Conditions: live},
		"queue IN ('q1', 'q2')": {Conditions: live, Queues: []string{"q1", "q2"}},
		"idempotency_key IN ('k10', 'k12', 'k21', 'k9')": {Conditions: live, Keys: []string{"k10", "k12", "k21", "k9"}},
		"queue = 'no'":                                              {Conditions: live, Queues: []string{"no"}},
		"kind = 'k1'":                                               {Conditions: live, Kinds: []string{"k1"}},
		"assignee = 'x1'":                                           {Conditions: live, Assignees: []string{"x1"}},
		"owner = 'o1' AND state = 'claimed'":                        {Conditions: live, Owners: []string{"o1"}},
		"state = 'pending' AND run_at <= now()":                     {Conditions: []todo.Condition{todo.IsPending}},
		"state = 'pending' AND run_at > now()":                      {Conditions: []todo.Condition{todo.IsDelayed}},
		"state = 'claimed' AND lease_expires_at > now()":            {Conditions: []todo.Condition{todo.IsClaimed}},
		"state = 'claimed' AND lease_expires_at <= now()":           {Conditions: []todo.Condition{todo.IsExpired}},
		"state = 'failed' AND available_at IS NOT NULL":             {Conditions: []todo.Condition{todo.IsRetrying}},
		"kind = 'k2' AND created_at > now() - '1 h'::interval":      {Conditions: live, Kinds: []string{"k2"}, CreatedSince: Moment{Back: ptr(time.Hour)}},
		"payload = 'null' AND assignee = 'x0' AND state = 'failed'": {Conditions: []todo.Condition{todo.IsRetrying}, Payload: ptr("null"), Assignees: []string{"x0"}},
	} {
		order := place + ", id" // of over a thousand
		if many, err := w.inLine(t.Context(), f, Page{Line: true, Limit: 1}); err != nil || !many || len(f.Keys) > 0 {
			order = "id"
		}
		want := strings.Fields(w.text(fmt.Sprintf("SELECT id FROM todos WHERE available_at IS NOT NULL AND (%s) ORDER BY %s", where, order)))
		if got := w.ids(f, Page{Line: true, Limit: 5000}, &Scanned{}); !slices.Equal(got, want) {
			t.Errorf("%s: %d todos, not %d in line", where, len(got), len(want))
		}
		got, after := []string{}, ""
		for {
			part := w.ids(f, Page{Line: true, Limit: 97, After: after}, &Scanned{})
			if got = append(got, part...); len(part) < 97 || len(got) > len(want) {
				break
			}
			after = part[96]
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: page by page %d todos, not %d in line", where, len(got), len(want))
		}
	}
	for _, err := range w.List(t.Context(), Filter{Conditions: live}, Page{Line: true, Limit: 1, After: "td_gone"}, &Scanned{}) {
		if e, ok := err.(*todo.Error); !ok || e.Code != todo.CodeNotFound {
			t.Errorf("after a todo that is gone: %v", err)
		}
	}
}

// A page goes on after the place of a todo that has been claimed since it was listed, and that is done.
func TestListInLineWhileTheyAreClaimed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec("INSERT INTO todos (id, queue, run_at) SELECT 'td_' || to_char(i, 'FM0000'), 'q', now() - (2000 - i) * interval '1 s' FROM generate_series(1, 1200) i")
	f := Filter{Conditions: []todo.Condition{todo.IsPending, todo.IsClaimed}}
	first := w.ids(f, Page{Line: true, Limit: 20}, &Scanned{})
	taken := w.take(some("q", "a", 30))
	if got := w.ids(f, Page{Line: true, Limit: 20, After: first[19]}, &Scanned{}); len(got) != 20 || got[0] != "td_0021" || got[19] != "td_0040" {
		t.Errorf("after a leased one: %v", got)
	}
	w.done(w.Complete(t.Context(), lease(taken[:20]...), nil))
	if got := w.ids(f, Page{Line: true, Limit: 40, After: first[19]}, &Scanned{}); len(got) != 40 || got[0] != "td_0021" {
		t.Errorf("after a done one: %v", got)
	}
}

// A list in line stops at the scan limit where nothing matches, and says so.
func TestListInLineBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec("INSERT INTO todos (id, queue, run_at) SELECT 'td_' || to_char(i, 'FM00000'), 'q' || i % 3, now() - i * interval '1 s' FROM generate_series(1, 9000) i")
	for limit, short := range map[int]bool{100: true, 20_000: false} {
		var s Scanned
		got := w.ids(Filter{Conditions: []todo.Condition{todo.IsPending}, Kinds: []string{"none"}, ScanLimit: limit}, Page{Line: true, Limit: 50, Bounded: true}, &s)
		if len(got) != 0 || s.Short != short {
			t.Errorf("limit %d: %d todos, cut short %v", limit, len(got), s.Short)
		}
	}
}
