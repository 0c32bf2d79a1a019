package queue

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// source yields todos to a bulk enqueue.
func source(list []NewTodo) func() (*NewTodo, error) {
	i := 0
	return func() (*NewTodo, error) {
		if i == len(list) {
			return nil, io.EOF
		}
		n := list[i]
		i++
		n.Line = i
		return &n, nil
	}
}

// keyed makes n todos of one queue, with keys in an order that has nothing to do with theirs.
func keyed(queue string, n int, seed uint64) []NewTodo {
	random := rand.New(rand.NewPCG(seed, 1))
	list := make([]NewTodo, n)
	for i := range list {
		k := fmt.Sprintf("%016x", random.Uint64())
		list[i] = NewTodo{Queue: queue, Title: fmt.Sprint(i), Payload: "null", Key: &k, MaxAttempts: DefaultMaxAttempts}
	}
	return list
}

// drain claims all that a queue holds and returns the titles in the order in which they came.
func (w *world) drain(queue string, n int) []string {
	w.t.Helper()
	var titles []string
	for {
		got, err := w.Claim(w.t.Context(), some(queue, "drain", n))
		if todo.CodeOf(err) == todo.CodeEmpty {
			return titles
		}
		if err != nil {
			w.t.Fatal(err)
		}
		for _, t := range got {
			titles = append(titles, t.Title)
		}
	}
}

// A long run of todos at their cap never hides the healthy one behind it, and is got rid of in
// few statements.
func TestClaimPassesTodosAtTheirCap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO todos (id, queue, assignee, state, owner, claimed_at, lease_expires_at, lease_seq, attempt, max_attempts)
	        SELECT 'td_' || i, 'q', CASE WHEN i % 3 = 0 THEN 'b' END, 'claimed', 'a', now() - interval '2 h',
	               now() - interval '1 h' + i * interval '1 us', 2, 2, 2
	          FROM generate_series(1, 3000) i`)
	w.exec(`INSERT INTO todo_attempts (todo_id, lease_seq, attempt, outcome) SELECT id, 1, 1, 'failed' FROM todos`)
	healthy := w.add("q")
	claims := 0
	c := w.tapped(func(sql string) {
		if strings.Contains(sql, "UPDATE todos") {
			claims++
		}
	})
	got, err := c.Claim(t.Context(), one("q", "b"))
	if err != nil || len(got) != 1 || got[0].ID != healthy {
		t.Fatalf("claimed %v, %v, not the healthy one", got, err)
	}
	if claims > 12 {
		t.Errorf("it took %d statements that write", claims)
	}
	if dead := w.text(`SELECT count(*)::text FROM todos t JOIN todo_attempts a ON a.todo_id = t.id AND a.lease_seq = 2
	    WHERE state = 'failed' AND available_at IS NULL AND t.owner = 'a' AND t.error = 'lease expired' AND fingerprint IS NOT NULL
	      AND a.outcome = 'expired' AND a.owner = 'a'`); dead != "3000" {
		t.Errorf("%s of 3000 are dead letters with their history", dead)
	}
	sound(t.Context(), t, w.sql)
}

// Bulk enqueues insert in the order of their keys, and yet first in is first out.
func TestBulkKeepsOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := keyed("q", 5000, 1)
	r, err := w.EnqueueMany(t.Context(), source(list), BulkOptions{})
	if err != nil || r != (BulkResult{Created: 5000}) {
		t.Fatal(r, err)
	}
	for i, title := range w.drain("q", 500) {
		if title != fmt.Sprint(i) {
			t.Fatalf("claim %d returned input %s", i, title)
		}
	}
}

// The same keys, shuffled, from three processes at once.
func TestBulkOfTheSameKeysAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	list := keyed("q", 5000, 2)
	var group sync.WaitGroup
	created := make([]int, 3)
	for i := range created {
		mine := slices.Clone(list)
		rand.New(rand.NewPCG(uint64(i), 2)).Shuffle(len(mine), func(a, b int) { mine[a], mine[b] = mine[b], mine[a] })
		c := w.client()
		group.Go(func() {
			defer c.Close()
			lines := 0
			r, err := c.EnqueueMany(t.Context(), source(mine), BulkOptions{Each: func(BulkLine) error { lines++; return nil }})
			if err != nil || r.Created+r.Duplicates != len(mine) || lines != len(mine) {
				t.Errorf("%+v, %d lines, %v", r, lines, err)
			}
			created[i] = r.Created
		})
	}
	group.Wait()
	if n := created[0] + created[1] + created[2]; n != len(list) {
		t.Errorf("%d keys made %d todos", len(list), n)
	}
	w.noDeadlock()
	sound(t.Context(), t, w.sql)
}

// noDeadlock fails the test when the server resolved a deadlock in this database: the client tries
// again and hides it. Backends hand in their counts at the latest when they end.
func (w *world) noDeadlock() {
	w.t.Helper()
	w.Close()
	until(w.t, "the backends of the clients end", func() bool {
		return w.text("SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'") == "0"
	})
	if n := w.text("SELECT deadlocks::text FROM pg_stat_database WHERE datname = current_database()"); n != "0" {
		w.t.Errorf("%s deadlocks", n)
	}
}

// A todo that failed stands where its backoff ended, whatever way it comes back.
func TestOrderAfterFailure(t *testing.T) {
	for name, back := range map[string]func(w *world, id string){
		"reap": func(w *world, _ string) {
			if r, err := w.Reap(w.t.Context(), []string{"q"}, false, nil); err != nil || r != (ReapResult{Retried: 1}) {
				w.t.Fatal(r, err)
			}
		},
		"claim and release": func(w *world, id string) {
			got, err := w.ClaimID(w.t.Context(), id, "a", time.Minute)
			if err != nil {
				w.t.Fatal(err)
			}
			w.done(w.Release(w.t.Context(), lease(got), nil, nil))
		},
		"nothing": func(*world, string) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.add("q", titled("first"))
			first := w.takeOne("q", "a")
			w.add("q", titled("mid"))
			w.done(w.Fail(t.Context(), lease(first), FailParams{Error: "x", RetryIn: ptr(time.Duration(0))}))
			w.add("q", titled("last"))
			back(w, first.ID)
			var titles []string
			for range 3 {
				titles = append(titles, w.takeOne("q", "b").Title)
			}
			if got := strings.Join(titles, " "); got != "mid first last" {
				t.Errorf("claims came as %s", got)
			}
		})
	}
}

// A lapsed lease stands where it ended until it is reaped, then at its old place; a released one at once.
func TestOrderOfLapsedAndReleased(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, title := range []string{"a", "b", "c"} {
		w.add("q", titled(title))
	}
	a := w.takeOne("q", "x")
	w.exec("UPDATE todos SET lease_expires_at = clock_timestamp() WHERE state = 'claimed'")
	b := w.takeOne("q", "x")
	if b.Title != "b" {
		t.Errorf("a lease that has just ended came before %s", b.Title)
	}
	if _, err := w.Reap(t.Context(), nil, false, nil); err != nil {
		t.Fatal(err)
	}
	w.done(w.Release(t.Context(), lease(b), nil, nil))
	if got := strings.Join(w.drain("q", 1), ""); got != "abc" {
		t.Errorf("claims came as %s", got)
	}
	if h := w.text("SELECT outcome FROM todo_attempts ORDER BY ended_at"); h != "expired\nreleased" {
		t.Errorf("history of %s and its like: %q", a.ID, h)
	}
}

// Own assigned todos come first, whatever their age; those of others never.
func TestOrderOfAssigned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add("q", titled("foreign"), assignee("y"))
	w.add("q", titled("pool"))
	w.add("q", titled("mine"), assignee("x"))
	got := w.take(some("q", "x", 5))
	if len(got) != 2 || got[0].Title != "mine" || got[1].Title != "pool" {
		t.Errorf("claimed %v", got)
	}
}

// Several queues: own todos over all, then the queue with the oldest head, filled from before the next.
func TestOrderOfSeveralQueues(t *testing.T) {
	for name, c := range map[string]struct {
		strict bool
		want   string
	}{
		"oldest head": {false, "own a1 b1 b2 a2"},
		"strict":      {true, "b1 b2 a1 a2 own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, title := range []string{"a1", "b1", "a2", "b2"} {
				w.add(title[:1], titled(title))
			}
			w.add("c", titled("own"), assignee("x"))
			var titles []string
			for range 3 {
				p := ClaimParams{Queues: []string{"b", "a", "c", "none"}, Owner: "x", TTL: time.Minute, Limit: 2, Strict: c.strict}
				for _, got := range w.take(p) {
					titles = append(titles, got.Title)
				}
			}
			if got := strings.Join(titles, " "); got != c.want {
				t.Errorf("claims came as %s, want %s", got, c.want)
			}
		})
	}
}
