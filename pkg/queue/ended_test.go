package queue

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/todo"
)

// kill makes a dead letter of the next todo of a queue.
func (w *world) kill(queue string) todo.Todo {
	w.t.Helper()
	t := w.takeOne(queue, "a")
	w.done(w.Fail(w.t.Context(), lease(t), FailParams{Error: "boom", Dead: true}))
	return t
}

// Of two dead letters with one key the newer lives; the other is superseded, without an error of the server.
func TestRetryOfTwoWithOneKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ids []string
	for range 2 {
		w.add("q", key("k"))
		ids = append(ids, w.kill("q").ID)
	}
	list, err := w.Retry(t.Context(), ids, RetryParams{})
	if err != nil {
		t.Fatal(err)
	}
	w.done(list[1:], nil)
	if e := list[0].Error; e == nil || e.Code != todo.CodeConflict || e.Details["superseded_by"] != ids[1] {
		t.Errorf("the older: %v", e)
	}
	s, err := w.RetryAll(t.Context(), Filter{Conditions: []todo.Condition{todo.IsDead}}, RetryParams{}, nil)
	if want := (Sweep{Verb: "retry", Matched: 1, Superseded: 1}); err != nil || s != want {
		t.Errorf("by filter %+v, %v", s, err)
	}
	sound(t.Context(), t, w.sql)
}

// An enqueue of the key of a todo that is being retried waits, and finds it.
func TestRetryBesideEnqueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("q", key("k"))
	dead := w.kill("q")
	gated := w.gated("retry", "FROM todos o\n   WHERE ", "FROM todos o\n   WHERE "+gate+" AND ")
	w.exec("SELECT pg_advisory_lock(7)")
	var group sync.WaitGroup
	group.Go(func() {
		list, err := gated.Retry(t.Context(), []string{dead.ID}, RetryParams{})
		if code(t, list, err) != "" {
			t.Errorf("retry: %v", list[0].Error)
		}
	})
	until(t, "the retry has reserved the key", func() bool { return w.waiting("advisory") == "1" })
	c := w.client()
	group.Go(func() {
		e, err := c.Enqueue(t.Context(), NewTodo{Queue: "q", Payload: "null", Key: ptr("k"), MaxAttempts: 1})
		if err != nil || e.Created || e.ID != dead.ID {
			t.Errorf("enqueue made or found %s, %v, not %s", e.ID, err, dead.ID)
		}
	})
	until(t, "the enqueue waits for the retry", func() bool { return w.waiting("transactionid") == "1" })
	w.exec("SELECT pg_advisory_unlock(7)")
	group.Wait()
	sound(t.Context(), t, w.sql)
}

// A retry of a key that is being enqueued waits, and is superseded.
func TestRetryAfterEnqueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("q", key("k"))
	dead := w.kill("q")
	other := pgtest.Connect(t, w.url)
	if _, err := other.Exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(t.Context(), "INSERT INTO todos (id, queue, idempotency_key) VALUES ('td_live', 'q', 'k')"); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		list, err := w.Retry(t.Context(), []string{dead.ID}, RetryParams{})
		if code(t, list, err) != todo.CodeConflict || list[0].Error.Details["superseded_by"] != "td_live" {
			t.Errorf("retry: %v", list[0].Error)
		}
	})
	until(t, "the retry waits for the enqueue", func() bool { return w.waiting("transactionid") == "1" })
	if _, err := other.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	sound(t.Context(), t, w.sql)
}

// waiting counts the backends of this database that wait for a lock of some type.
func (w *world) waiting(locktype string) string {
	w.t.Helper()
	return w.text(`SELECT count(*)::text FROM pg_locks l JOIN pg_stat_activity a USING (pid)
	                WHERE a.datname = current_database() AND l.locktype = $1 AND NOT l.granted`, locktype)
}

// Complete twice with one receipt.
func TestCompleteTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("q")
	got := w.takeOne("q", "a")
	w.done(w.Complete(t.Context(), lease(got), ptr(`{"n":1}`)))
	before := w.text("SELECT row_to_json(todos)::text FROM todos")
	again := func() todo.Code {
		list, err := w.Complete(t.Context(), lease(got), ptr(`{"n":2}`))
		return code(t, list, err)
	}
	if c := again(); c != "already" {
		t.Errorf("the second time: %q", c)
	}
	if after := w.text("SELECT row_to_json(todos)::text FROM todos"); after != before {
		t.Errorf("the repetition changed\n%s\nto\n%s", before, after)
	}
	list, err := w.Complete(t.Context(), LeaseParams{Receipts: []todo.Receipt{receipt(got)}, Owner: "b", Named: true}, nil)
	if c := code(t, list, err); c != todo.CodeConflict {
		t.Errorf("by another owner: %q", c)
	}
}

// A receipt is worth nothing once somebody else had the todo.
func TestCompleteAfterAnotherLease(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("q")
	first := w.takeOne("q", "a")
	w.lapse(first.ID)
	second := w.takeOne("q", "a") // the same owner name does not help
	for _, when := range []string{"while it is held again", "after it was done"} {
		list, err := w.Complete(t.Context(), lease(first), nil)
		if c := code(t, list, err); c != todo.CodeConflict {
			t.Errorf("%s: %q", when, c)
		}
		if when == "while it is held again" {
			w.done(w.Complete(t.Context(), lease(second), nil))
		}
	}
	sound(t.Context(), t, w.sql)
}

// By two processes at once: one does it, the other learns that it is done.
func TestCompleteByTwoAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var all []todo.Todo
	for range 20 {
		w.add("q")
		all = append(all, w.takeOne("q", "a"))
	}
	other := w.client()
	var lists [2][]Result
	var group sync.WaitGroup
	for i, c := range []*Client{w.Client, other} {
		group.Go(func() {
			var err error
			if lists[i], err = c.Complete(t.Context(), lease(all...), ptr(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	for i := range all {
		a, b := lists[0][i], lists[1][i]
		if a.Error != nil || b.Error != nil || a.Already == b.Already {
			t.Errorf("%s: %+v and %+v", all[i].ID, a, b)
		}
	}
}

// Twenty digits and more come back as they went, by every way in and out.
func TestDigits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const payload = `{"n": 12345678901234567890, "f": 0.10000000000000000000000001, "e": 1e30, "z": 1.00}`
	const kept = `{"e": 1000000000000000000000000000000, "f": 0.10000000000000000000000001, "n": 12345678901234567890, "z": 1.00}`
	raw := func(n *NewTodo) { n.Payload = string([]byte(payload)) }
	w.add("q", raw)
	bulk := []NewTodo{{Queue: "q", Payload: payload, MaxAttempts: 1, Event: &NewEvent{Source: "s", ExternalID: ptr("x"), Payload: payload}}}
	if _, err := w.EnqueueMany(t.Context(), source(bulk), BulkOptions{}); err != nil {
		t.Fatal(err)
	}
	got := w.take(some("q", "a", 2))
	for _, g := range got {
		if string(g.Payload) != kept {
			t.Errorf("claim returned %s", g.Payload)
		}
		w.done(w.Complete(t.Context(), lease(g), ptr(payload)))
		s, err := w.Show(t.Context(), g.ID)
		if err != nil || string(s.Payload) != kept || s.Result == nil || string(*s.Result) != kept {
			t.Errorf("show returned %s and %v, %v", s.Payload, s.Result, err)
		}
		if s.Event != nil && string(s.Event.Payload) != kept {
			t.Errorf("the event is %s", s.Event.Payload)
		}
	}
	w.add("q", raw)
	failed := w.takeOne("q", "a")
	w.done(w.Fail(t.Context(), lease(failed), FailParams{Error: "x", Result: ptr(payload)}))
	s, err := w.Show(t.Context(), failed.ID)
	if err != nil || len(s.History) != 1 || string(*s.History[0].Result) != kept {
		t.Errorf("history returned %v, %v", s.History, err)
	}
	for g, err := range w.List(t.Context(), Filter{}, Page{Bodies: true}, &Scanned{}) {
		if err != nil || string(g.Payload) != kept || !json.Valid(g.Payload) {
			t.Errorf("list returned %s, %v", g.Payload, err)
		}
	}
}

// A hundred thousand attempts overflow no backoff.
func TestFailAfterManyAttempts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("q")
	got := w.takeOne("q", "a")
	w.exec("UPDATE todos SET attempt = 100000, max_attempts = 200000")
	r := w.done(w.Fail(t.Context(), lease(got), FailParams{Error: "x"}))[0]
	if wait := w.text("SELECT (next_retry_at - updated_at)::text FROM todos"); wait != "00:15:00" || r.Condition != todo.IsRetrying {
		t.Errorf("it is %s for %s", r.Condition, wait)
	}
}

// A failure is judged by the row that was locked, not by the one that the statement's snapshot holds:
// with a bare id the lease may have become a later one meanwhile, at the cap.
func TestFailSeesTheLockedRow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.add("q", budget(2))
	w.takeOne("q", "a")
	w.lapse(id)
	other := pgtest.Connect(t, w.url)
	text, err := statement("claim_id")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(t.Context(), text, strictArgs(map[string]any{"id": id, "owner": "a", "ttl": time.Minute, "expired": ""})); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	group.Go(func() {
		list, err := w.Fail(t.Context(), LeaseParams{Receipts: []todo.Receipt{{ID: id}}, Owner: "a"}, FailParams{Error: "x"})
		if code(t, list, err) != "" || list[0].Condition != todo.IsDead {
			t.Errorf("at the cap it is %s, %v", list[0].Condition, list[0].Error)
		}
	})
	until(t, "the failure waits for the claim", func() bool {
		return w.waiting("transactionid")+w.waiting("tuple") != "00"
	})
	if _, err := other.Exec(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	group.Wait()
}
