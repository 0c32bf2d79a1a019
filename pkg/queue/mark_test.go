package queue

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/todo"
)

// behindMark is a world in which a claim of queue q has just left a mark, with its client under test
// going by it: a transaction is held open, and what was completed since lies at the head of the index.
func behindMark(t *testing.T) *world {
	t.Helper()
	w, _ := behindMarkOf(t)
	return w
}

// behindMarkOf also returns what ends the transaction.
func behindMarkOf(t *testing.T) (*world, func()) {
	t.Helper()
	w := newWorld(t)
	end := hold(t, w, 40_000)
	w.add("q")
	w.takeOne("q", "me")
	if m := w.mark(one("q", "me")); m.low.IsZero() {
		t.Fatal("a claim over 40,000 dead entries left no mark")
	}
	return w, end
}

// hold opens a snapshot and completes n todos of queue q behind it. It returns what ends the snapshot.
func hold(t *testing.T, w *world, n int) func() {
	t.Helper()
	w.exec("ALTER TABLE todos SET (autovacuum_enabled = false)")
	w.exec("INSERT INTO todos (queue, run_at) SELECT 'q', now() - interval '10 s' + i * interval '1 us' FROM generate_series(1, $1::int) i", n)
	other := pgtest.Connect(t, w.url)
	tx, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT count(*) FROM todos"); err != nil {
		t.Fatal(err)
	}
	w.exec("UPDATE todos SET state = 'done', completed_at = now() WHERE queue = 'q'")
	return func() {
		if err := tx.Rollback(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
}

// walked returns how many pages of the pool index a function's statements fetch.
func (w *world) walked(c *Client, f func()) int {
	w.t.Helper()
	before := w.fetched(c)
	f()
	return w.fetched(c) - before
}

func (w *world) fetched(c *Client) (n int) {
	w.t.Helper()
	// A transaction of the client's own session sees what that session has not reported yet, and the rest is in the view.
	if _, err := c.conn.Exec(w.t.Context(), "SELECT pg_stat_force_next_flush()"); err != nil {
		w.t.Fatal(err)
	}
	if err := w.sql.QueryRow(w.t.Context(), "SELECT pg_stat_get_blocks_fetched('idx_todos_pool'::regclass)").Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// However much was completed behind a transaction that is left open, a claim reads a few pages: one
// that goes by its own mark, and one that goes by another's.
func TestMarkBoundsTheClaim(t *testing.T) {
	t.Parallel()
	w := behindMark(t)
	fresh := w.client()
	for i := range 5 {
		w.add("q")
		w.add("q")
		if n := w.walked(w.Client, func() { w.takeOne("q", "me") }); n >= 30 {
			t.Errorf("claim %d by its own mark read %d pages", i, n)
		}
		next := w.client() // as the next process would
		if n := w.walked(next, func() {
			if _, err := next.Claim(t.Context(), one("q", "me")); err != nil {
				t.Fatal(err)
			}
		}); n >= 30 {
			t.Errorf("claim %d by another's mark read %d pages", i, n)
		}
	}
	w.exec("DELETE FROM marks")
	w.add("q")
	if n := w.walked(fresh, func() {
		if _, err := fresh.Claim(t.Context(), one("q", "me")); err != nil {
			t.Fatal(err)
		}
	}); n < walkedFar {
		t.Errorf("without a mark a claim read %d pages: this test shows nothing", n)
	}
}

// In ordinary life there is no mark, and a todo that is given back comes first again.
func TestNoMarkWithoutCause(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 300 {
		w.add("q")
	}
	for range 3 {
		got := w.take(some("q", "me", 50))
		if _, err := w.Release(t.Context(), lease(got[0]), nil, nil); err != nil {
			t.Fatal(err)
		}
		if again := w.takeOne("q", "me"); again.ID != got[0].ID {
			t.Errorf("claimed %s, not %s that was given back", again.ID, got[0].ID)
		}
	}
	if m := w.mark(one("q", "me")); !m.low.IsZero() {
		t.Errorf("there is a mark at %s", m.low)
	}
	if n := w.text("SELECT count(*)::text FROM marks"); n != "0" {
		t.Errorf("%s marks", n)
	}
}

// What comes to lie below a mark is found: at once where nothing lies above it, else when everything is looked at again.
func TestBelowTheMark(t *testing.T) {
	t.Parallel()
	late := func(w *world) string {
		tx, err := w.sql.Begin(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		var id string
		if err := tx.QueryRow(w.t.Context(), "INSERT INTO todos (queue) VALUES ('q') RETURNING id").Scan(&id); err != nil {
			w.t.Fatal(err)
		}
		for range 3 { // the mark moves on meanwhile
			time.Sleep(markLag)
			w.add("q")
			w.takeOne("q", "me")
		}
		if err := tx.Commit(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		return id
	}
	released := func(w *world) string {
		w.exec("UPDATE marks SET low = now()")
		w.add("q")
		got := w.takeOne("q", "me")
		time.Sleep(markLag)
		w.add("q")
		w.takeOne("q", "me")
		w.done(w.Release(w.t.Context(), lease(got), nil, nil))
		return got.ID
	}
	early := func(w *world) string { return w.add("q", func(n *NewTodo) { n.Delay = ptr(-time.Hour) }) }
	for name, below := range map[string]func(*world) string{"committed late": late, "released": released, "with a head start": early} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := behindMark(t)
			id := below(w)
			if got := w.takeOne("q", "me"); got.ID != id {
				t.Errorf("with nothing else to claim, claimed %s, not %s", got.ID, id)
			}
			// And with something above it: not before everything is looked at again.
			w.done(w.Release(t.Context(), lease(w.takeBack(id)), nil, nil))
			m := w.mark(one("q", "me"))
			m.low, m.whole = w.now().Add(-time.Millisecond), time.Now()
			above := w.add("q")
			if got := w.takeOne("q", "me"); got.ID != above {
				t.Errorf("by the mark, claimed %s, not %s that lies above it", got.ID, above)
			}
			w.add("q")
			m.whole = time.Now().Add(-markHeld) // as if the time were over
			if got := w.takeOne("q", "me"); got.ID != id {
				t.Errorf("looking at everything, claimed %s, not %s", got.ID, id)
			}
		})
	}
}

// now reads the server's clock.
func (w *world) now() (at time.Time) {
	w.t.Helper()
	if err := w.sql.QueryRow(w.t.Context(), "SELECT clock_timestamp()").Scan(&at); err != nil {
		w.t.Fatal(err)
	}
	return at
}

// takeBack reads how a claimed todo is now.
func (w *world) takeBack(id string) todo.Todo {
	w.t.Helper()
	s, err := w.Show(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Todo
}

// A todo that is assigned to the caller is found wherever it lies, and never moves the mark.
func TestOwnTodosHaveNoMark(t *testing.T) {
	t.Parallel()
	w := behindMark(t)
	m := w.mark(one("q", "me"))
	low := m.low
	mine := w.add("q", assignee("me"), func(n *NewTodo) { n.Delay = ptr(-time.Hour) })
	w.add("q")
	if got := w.takeOne("q", "me"); got.ID != mine {
		t.Errorf("claimed %s, not the own %s", got.ID, mine)
	}
	if m.low.Before(low) {
		t.Errorf("an own todo moved the mark from %s to %s", low, m.low)
	}
}

// Two clients whose marks differ take every todo once and leave none, whatever lies below either mark.
func TestMarksThatDisagree(t *testing.T) {
	t.Parallel()
	w := behindMark(t)
	other := w.client()
	p := one("q", "other")
	m := other.mark(p)
	m.read, m.low, m.whole = true, time.Now().Add(time.Minute), time.Now() // as with a clock that was ahead
	want := map[string]bool{}
	for i := range 40 {
		want[w.add("q", func(n *NewTodo) { n.Delay = ptr(-time.Duration(i) * time.Second) })] = true
	}
	for i := 0; len(want) > 0; i++ {
		c := w.Client
		if i%2 == 1 {
			c = other
		}
		got, err := c.Claim(t.Context(), ClaimParams{Queues: []string{"q"}, Owner: fmt.Sprint(i % 2), TTL: time.Minute})
		if err != nil {
			t.Fatalf("%d todos are left: %v", len(want), err)
		}
		if !want[got[0].ID] {
			t.Fatalf("%s was claimed twice", got[0].ID)
		}
		delete(want, got[0].ID)
	}
	for _, c := range []*Client{w.Client, other} {
		if _, err := c.Claim(t.Context(), one("q", "me")); !errors.Is(err, todo.ErrEmpty) {
			t.Errorf("after all: %v", err)
		}
	}
}

// The first of many who find a mark outdated looks at everything; the others go by it and wait for nobody.
func TestOneRenewsTheMark(t *testing.T) {
	t.Parallel()
	w := behindMark(t)
	w.exec("UPDATE marks SET at = now() - interval '1 h'")
	winner, err := w.sql.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := winner.Exec(t.Context(), "SELECT 1 FROM marks FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	side := w.client()
	w.add("q")
	w.add("q")
	fresh := w.client()
	got, err := fresh.Claim(t.Context(), one("q", "me"))
	if err != nil || len(got) != 1 {
		t.Fatalf("beside the winner: %v", err)
	}
	if m := fresh.mark(one("q", "me")); m.low.IsZero() {
		t.Error("beside the winner the mark was not used")
	}
	if err := winner.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.walked(side, func() {
		if _, err := side.Claim(t.Context(), one("q", "me")); err != nil {
			t.Fatal(err)
		}
	}); n < walkedFar {
		t.Errorf("who wins an outdated mark read %d pages, not all", n)
	}
	if old := w.text("SELECT 1::text FROM marks WHERE at < now() - interval '1 min'"); old != "" {
		t.Error("the mark was not renewed")
	}
}

// A mark goes when its cause is gone: the transaction has ended and the entries were vacuumed away.
func TestMarkGoes(t *testing.T) {
	t.Parallel()
	w, end := behindMarkOf(t)
	end()
	w.exec("VACUUM todos")
	w.exec("UPDATE marks SET at = now() - interval '1 h'")
	w.add("q")
	fresh := w.client()
	if _, err := fresh.Claim(t.Context(), one("q", "me")); err != nil {
		t.Fatal(err)
	}
	if n := w.text("SELECT count(*)::text FROM marks"); n != "0" {
		t.Errorf("%s marks are left", n)
	}
}
