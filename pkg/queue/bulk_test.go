package queue

import (
	"strings"
	"sync"
	"testing"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

// Of lines with one key the first is made, whatever came between; lines without one never collide; a live
// todo stands in the way, one that is done does not.
func TestBulkCollapsesDuplicates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("q", key("old"))
	done := w.takeOne("q", "a")
	w.done(w.Complete(t.Context(), lease(done), nil))
	live := w.add("q", key("live"))
	line := func(title string, k *string) NewTodo {
		return NewTodo{Queue: "q", Title: title, Payload: "1", MaxAttempts: 1, Key: k}
	}
	list := []NewTodo{line("b1", ptr("b")), line("none", nil), line("a1", ptr("a")), line("b2", ptr("b")), line("none", nil),
		line("live", ptr("live")), line("old", ptr("old")), line("b3", ptr("b")), {Queue: "p", Title: "other queue", Payload: "1", MaxAttempts: 1, Key: ptr("b")}}
	var made []bool
	ids := map[string]bool{}
	r, err := w.EnqueueMany(t.Context(), source(list), BulkOptions{Each: func(l BulkLine) error {
		made = append(made, l.Created)
		ids[l.ID] = true
		return nil
	}})
	if err != nil || r != (BulkResult{Created: 6, Duplicates: 3}) {
		t.Fatal(r, err)
	}
	for i, want := range []bool{true, true, true, false, true, false, true, false, true} {
		if made[i] != want {
			t.Errorf("line %d: created is %v", i+1, made[i])
		}
	}
	if len(ids) != 7 || !ids[live] {
		t.Errorf("the lines are %d todos, the live one among them: %v", len(ids), ids[live])
	}
	if got := strings.Join(w.drain("q", 10), " "); got != "live b1 none a1 none old" && got != " b1 none a1 none old" {
		t.Errorf("claimed in the order %q", got)
	}
}

// Who takes a key while a bulk enqueue is at it makes that wait, and then find a duplicate.
func TestBulkMeetsAnEnqueue(t *testing.T) {
	t.Parallel()
	for _, commits := range []bool{true, false} {
		w := newWorld(t)
		other := pgtest.Connect(t, w.url)
		tx, err := other.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), "INSERT INTO todos (queue, idempotency_key) VALUES ('q', '3')"); err != nil {
			t.Fatal(err)
		}
		var list []NewTodo
		for _, k := range []string{"5", "4", "3", "2", "1", "3"} {
			list = append(list, NewTodo{Queue: "q", Payload: "1", MaxAttempts: 1, Key: &k})
		}
		var r BulkResult
		var fault error
		var group sync.WaitGroup
		group.Go(func() { r, fault = w.EnqueueMany(t.Context(), source(list), BulkOptions{}) })
		until(t, "the bulk enqueue waits for the other", func() bool { return w.waiting("transactionid") == "1" })
		want := BulkResult{Created: 5, Duplicates: 1}
		if commits {
			want = BulkResult{Created: 4, Duplicates: 2}
			err = tx.Commit(t.Context())
		} else {
			err = tx.Rollback(t.Context())
		}
		group.Wait()
		if err != nil || fault != nil || r != want {
			t.Errorf("the other commits: %v: %+v, %v, %v", commits, r, fault, err)
		}
		if n := w.text("SELECT count(*)::text FROM todos"); n != "5" {
			t.Errorf("%s todos of 5 keys", n)
		}
	}
}
