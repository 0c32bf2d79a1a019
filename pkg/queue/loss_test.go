package queue

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// A lease that has run out ends once, whoever is first: its holder, who completes, fails, releases or renews it, or the one who
// takes it over, reaps it or buries it. A thousand rounds, with all ways of both sides.
func TestLeaseLossAgainstItsEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	holder, other := w.client(), w.client()
	rounds := 1000
	if testing.Short() {
		rounds = 200
	}
	w.exec("INSERT INTO todos (queue) SELECT 'q' FROM generate_series(1, $1::int)", rounds)
	leases := w.take(some("q", "holder", rounds))
	ended := make([]bool, rounds) // the holder was told that the lease ended by its word, or runs on
	for i, held := range leases {
		w.lapse(held.ID)
		var both sync.WaitGroup
		start := make(chan struct{})
		both.Go(func() {
			<-start
			ended[i] = holder.endOrRenew(t, i, held)
		})
		both.Go(func() {
			<-start
			other.takeAway(t, i/5, held)
		})
		close(start)
		both.Wait()
		// What came back to the queue does not belong to the next round.
		w.exec("UPDATE todos SET run_at = now() + interval '1 day' WHERE id = $1 AND state = 'pending'", held.ID)
	}
	kept := 0
	for i, held := range leases {
		if ended[i] {
			kept++
		}
		past := w.text("SELECT outcome FROM todo_attempts WHERE todo_id = $1 AND lease_seq = 1", held.ID)
		now := w.text("SELECT state || ' ' || lease_seq || coalesce(' ' || owner, '') FROM todos WHERE id = $1", held.ID)
		verb := [5]string{"complete", "fail", "release", "renew", "complete each"}[i%5]
		want := map[string]string{"fail": "failed", "release": "released"}[verb]
		switch {
		case ended[i] && verb == "renew":
			if now != "claimed 1 holder" && past != "buried" {
				t.Errorf("round %d: renewed, and the todo is %s, lease 1 ended as %q", i, now, past)
			}
		case ended[i] && past != want:
			t.Errorf("round %d: %s succeeded, and lease 1 ended as %q", i, verb, past)
		case !ended[i] && past != "taken over" && past != "expired" && past != "buried":
			t.Errorf("round %d: %s was refused, and lease 1 ended as %q (%s)", i, verb, past, now)
		}
	}
	if kept == 0 || kept == rounds {
		t.Errorf("of %d races the holder won %d: nothing was at stake", rounds, kept)
	}
	// Every lease has one end: in the history, or as the row's own last lease.
	if bad := w.text(`SELECT id FROM todos t WHERE lease_seq <> (SELECT count(*) FROM todo_attempts a WHERE a.todo_id = t.id)
		+ CASE WHEN state IN ('claimed', 'done') THEN 1 ELSE 0 END`); bad != "" {
		t.Errorf("these have a lease with no end, or with two: %s", bad)
	}
	sound(t.Context(), t, w.sql)
	holder.Close()
	other.Close()
	w.noDeadlock()
}

// takeAway ends a lease that has run out in one of the three ways that others have.
func (c *Client) takeAway(t *testing.T, way int, held todo.Todo) {
	switch way % 3 {
	case 0:
		got, err := c.Claim(t.Context(), one("q", "other"))
		if err != nil && !errors.Is(err, todo.ErrEmpty) || err == nil && got[0].ID != held.ID {
			t.Error(got, err)
		}
	case 1:
		if _, err := c.Reap(t.Context(), nil, false, nil); err != nil {
			t.Error(err)
		}
	case 2:
		if _, err := c.Bury(t.Context(), []string{held.ID}, BuryParams{Force: true}); err != nil {
			t.Error(err)
		}
	}
}

// endOrRenew does one of the five things that a holder can do with a lease; false when it was told that the lease is lost.
func (c *Client) endOrRenew(t *testing.T, round int, held todo.Todo) bool {
	ctx := t.Context()
	var list []Result
	var err error
	switch round % 5 {
	case 0:
		list, err = c.Complete(ctx, lease(held), nil)
	case 1:
		list, err = c.Fail(ctx, lease(held), FailParams{Error: "x"})
	case 2:
		list, err = c.Release(ctx, lease(held), nil, nil)
	case 3:
		for {
			got, err := c.Renew(ctx, lease(held).Receipts, time.Minute)
			if err != nil {
				t.Error(err)
				return false
			}
			if got[0] != Busy { // somebody was at the row
				return got[0] == Renewed
			}
		}
	case 4:
		list, err = c.CompleteEach(ctx, []Completion{{Receipt: receipt(held)}})
	}
	if err != nil || len(list) != 1 {
		t.Error(list, err)
		return false
	}
	return list[0].Error == nil
}
