package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

func (w *world) coalescer(connections int) *Coalescer {
	w.t.Helper()
	b, err := NewCoalescer(w.t.Context(), options(w.url), connections)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(b.Close)
	return b
}

// fill enqueues n todos.
func (w *world) fill(queue string, n int) {
	w.t.Helper()
	w.exec("INSERT INTO todos (queue) SELECT $1 FROM generate_series(1, $2::int)", queue, n)
}

// Many goroutines that claim and complete one at a time take every todo once and complete them all, in far
// fewer statements than calls.
func TestCoalescedCalls(t *testing.T) {
	t.Parallel()
	const todos, callers = 4000, 100
	w := newWorld(t)
	w.fill("q", todos)
	b := w.coalescer(2)
	var mu sync.Mutex
	seen := map[string]bool{}
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			p := one("q", fmt.Sprint(i%2)) // two owners: calls of the one are no claims of the other
			for {
				got, err := b.Claim(context.Background(), p)
				if errors.Is(err, todo.ErrEmpty) {
					return
				}
				if err != nil || got.Owner == nil || *got.Owner != p.Owner {
					t.Errorf("claimed %v for %s: %v", got.Owner, p.Owner, err)
					return
				}
				mu.Lock()
				if seen[got.ID] {
					t.Errorf("%s was claimed twice", got.ID)
				}
				seen[got.ID] = true
				mu.Unlock()
				result := fmt.Sprintf("%q", got.ID)
				r, err := b.Complete(context.Background(), Completion{Receipt: receipt(got), Result: &result})
				if err != nil || r.Error != nil || r.Already || r.ID != got.ID {
					t.Errorf("complete %s: %+v, %v", got.ID, r, err)
				}
			}
		})
	}
	all.Wait()
	if n := w.text("SELECT count(*)::text FROM todos WHERE state = 'done' AND result #>> '{}' = id"); n != fmt.Sprint(todos) {
		t.Errorf("%s todos are done with their own result, not %d", n, todos)
	}
	var claims int
	if err := w.sql.QueryRow(t.Context(), "SELECT count(DISTINCT claimed_at) FROM todos").Scan(&claims); err != nil || claims > todos/5 {
		t.Errorf("%d todos took %d statements to claim, %v", todos, claims, err)
	}
}

// A caller who waits no more keeps no lease, and costs nobody else anything.
func TestCoalescedCallersThatLeave(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill("q", 50)
	b := w.coalescer(1)
	locked, err := w.sql.Begin(t.Context()) // holds the claim up where it checks for a pause, so that callers can leave meanwhile
	if err != nil {
		t.Fatal(err)
	}
	if _, err := locked.Exec(t.Context(), "LOCK TABLE queues IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	var stayers, leavers sync.WaitGroup
	ctx, leave := context.WithCancel(t.Context())
	for i := range 20 {
		c, group := t.Context(), &stayers
		if i%2 == 0 {
			c, group = ctx, &leavers
		}
		group.Go(func() {
			_, err := b.Claim(c, one("q", "w"))
			if stays := i%2 == 1; stays != (err == nil) || !stays && todo.CodeOf(err) != todo.CodeTimeout {
				t.Errorf("caller %d: %v", i, err)
			}
		})
	}
	other := w.client()
	for !waitsForLock(t, other) {
		time.Sleep(5 * time.Millisecond)
	}
	leave()
	leavers.Wait()
	if err := locked.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	stayers.Wait()
	b.Close()
	if n := w.text("SELECT count(*)::text FROM todos WHERE state = 'claimed'"); n != "10" {
		t.Errorf("%s todos are leased to 10 callers", n)
	}
	if n := w.text("SELECT count(*)::text FROM todos WHERE state = 'pending' AND attempt > 0"); n != "0" {
		t.Errorf("%s todos lost an attempt to a caller who had left", n)
	}
}

// waitsForLock says whether somebody waits for a lock.
func waitsForLock(t *testing.T, c *Client) (waits bool) {
	t.Helper()
	err := c.conn.QueryRow(t.Context(), "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&waits)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		t.Fatal(err)
	}
	return waits
}

// Each call has its own answer: a lost lease, one that was completed before, a bare id, the same receipt twice at once.
func TestCoalescedAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill("q", 2)
	b := w.coalescer(2)
	got, err := b.Claim(t.Context(), one("q", "w"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Complete(t.Context(), Completion{Receipt: todo.Receipt{ID: got.ID}}); todo.CodeOf(err) != todo.CodeUsage {
		t.Errorf("a bare id: %v", err)
	}
	var both sync.WaitGroup
	var mu sync.Mutex
	already := 0
	for range 2 {
		both.Go(func() {
			r, err := b.Complete(context.Background(), Completion{Receipt: receipt(got)})
			if err != nil || r.Error != nil {
				t.Errorf("one of two completions: %+v, %v", r, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if r.Already {
				already++
			}
		})
	}
	both.Wait()
	if already != 1 {
		t.Errorf("%d of two completions had been done already", already)
	}
	stale := receipt(got)
	stale.Seq = 7
	if r, err := b.Complete(t.Context(), Completion{Receipt: stale}); err != nil || !errors.Is(r.Error, todo.ErrConflict) {
		t.Errorf("a lease that never was: %+v, %v", r, err)
	}
	if r, err := b.Complete(t.Context(), Completion{Receipt: todo.Receipt{ID: "td_00000000-0000-7000-8000-000000000000", Seq: 1}}); err != nil || !errors.Is(r.Error, todo.ErrNotFound) {
		t.Errorf("no such todo: %+v, %v", r, err)
	}
	b.Close()
	if _, err := b.Claim(t.Context(), one("q", "w")); err == nil {
		t.Error("a claim after the end was answered")
	}
}
