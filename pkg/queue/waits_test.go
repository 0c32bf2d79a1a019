package queue

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

func strictArgs(m map[string]any) pgx.StrictNamedArgs { return m }

// read returns how many entries of indexes and rows of the table the clients so far have gone through.
func (w *world) read(table string) int {
	w.t.Helper()
	n, err := strconv.Atoi(w.text(`SELECT (seq_tup_read + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes i WHERE i.relid = t.relid))::bigint::text
	    FROM pg_stat_user_tables t WHERE relname = $1`, table))
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// A million leases may end at one moment. Twice the todos are twice the work, counted in what
// is read, and everything is swept in one pass.
func TestReapIsLinear(t *testing.T) {
	work := func(n int) int {
		w := newWorld(t)
		w.exec(`INSERT INTO todos (id, queue, state, owner, claimed_at, lease_expires_at, lease_seq, attempt, assignee)
		        SELECT 'td_' || i, 'q' || i % 2, 'claimed', 'a', now() - interval '2 h', now() - interval '1 h', 1, 1, CASE WHEN i % 10 = 0 THEN 'x' END
		          FROM generate_series(1, $1::int) i`, n)
		w.exec("ANALYZE todos")
		r, err := w.Reap(t.Context(), nil, false, nil)
		if err != nil || r != (ReapResult{Requeued: n}) {
			t.Fatal(r, err)
		}
		sound(t.Context(), t, w.sql)
		w.noDeadlock()
		return w.read("todos")
	}
	once, twice := work(5000), work(10000)
	if once < 5000 || float64(twice) > 2.5*float64(once) {
		t.Errorf("5000 todos: %d rows read, 10000: %d", once, twice)
	}
}

// However many todos share a time, and whatever else lies between them, pages of any size name each one that is due once. What is
// swept meanwhile and what falls due meanwhile changes nothing in that.
func TestReapPages(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{1, 4, 9, 30, 1000} {
		for _, sweeps := range []bool{false, true} {
			w := newWorld(t)
			w.exec(`INSERT INTO todos (id, queue, state, owner, claimed_at, lease_expires_at, next_retry_at, run_at, lease_seq, attempt, assignee)
			        SELECT 'td_' || i, 'q' || i % 3, (ARRAY['claimed', 'failed', 'pending', 'claimed'])[i % 4 + 1], 'a', now() - interval '2 h',
			               CASE WHEN i % 4 IN (0, 3) THEN at END, CASE WHEN i % 4 = 1 THEN at END, at, 1, 1, CASE WHEN i % 5 = 0 THEN 'x' || i % 2 END
			          FROM (SELECT i, date_trunc('hour', now()) - i % 7 * i % 11 * interval '1 h' AS at FROM generate_series(1, 400) i) s`)
			places, err := w.reapScope(t.Context(), nil)
			if err != nil || len(places) != 9 {
				t.Fatal(places, err)
			}
			var until *string
			seen := map[string]int{}
			for len(places) > 0 {
				page, err := w.reapPage(t.Context(), places, until, rows)
				if err != nil {
					t.Fatal(err)
				}
				if n := max(rows/len(places), 1) * len(places); len(page.ids) > n {
					t.Errorf("pages of %d: one has %d", n, len(page.ids))
				}
				for _, id := range page.ids {
					seen[id]++
				}
				if sweeps {
					if _, err := w.reapBatch(t.Context(), page.ids); err != nil {
						t.Fatal(err)
					}
				}
				if until == nil {
					w.exec(`INSERT INTO todos (id, queue, state, owner, claimed_at, lease_expires_at, lease_seq, attempt)
					        SELECT 'late_' || i, 'q0', 'claimed', 'a', now() - interval '1 h', clock_timestamp(), 1, 1 FROM generate_series(1, 20) i ON CONFLICT DO NOTHING`)
				}
				places, until = page.next, page.until
			}
			for i := 1; i <= 400; i++ {
				if id, want := fmt.Sprintf("td_%d", i), map[bool]int{true: 1}[i%4 != 2]; seen[id] != want {
					t.Errorf("pages of %d, swept %v: %s is named %d times, want %d", rows, sweeps, id, seen[id], want)
				}
			}
			if rows < 400 && seen["late_1"] != 0 {
				t.Errorf("pages of %d: what fell due after the start is swept too", rows)
			}
		}
	}
}

// While a bulk enqueue waits for its input, nobody waits for it. A small input is read before
// the transaction; a large one is staged where nobody else looks.
func TestBulkHoldsNothingWhileItReads(t *testing.T) {
	for name, size := range map[string]int{"small": 10, "large": firstBytes + 1<<20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.add("q", key("live"))
			held := w.takeOne("q", "a")
			other := w.client()
			other.opt.LockTimeout = time.Second
			asked := 0
			next := source([]NewTodo{
				{Queue: "q", Payload: "null", Key: ptr("live"), MaxAttempts: 1},
				{Queue: "q", Payload: strconv.Quote(strings.Repeat("x", size)), Key: ptr("new"), MaxAttempts: 1},
				{Queue: "new", Payload: "null", MaxAttempts: 1},
			})
			r, err := w.EnqueueMany(t.Context(), func() (*NewTodo, error) {
				asked++
				w.done(other.Heartbeat(t.Context(), lease(held), time.Minute))
				e, err := other.Enqueue(t.Context(), NewTodo{Queue: "q", Payload: "null", Key: ptr("live"), MaxAttempts: 1})
				if err != nil || e.ID != held.ID {
					t.Errorf("question %d: a duplicate enqueue returned %s, %v", asked, e.ID, err)
				}
				for _, q := range []string{"q", "new"} {
					if _, err := other.Enqueue(t.Context(), NewTodo{Queue: q, Payload: "null", Key: ptr(fmt.Sprint("new", asked)), MaxAttempts: 1}); err != nil {
						t.Errorf("question %d: %v", asked, err)
					}
				}
				return next()
			}, BulkOptions{})
			if want := (BulkResult{Created: 2, Duplicates: 1}); err != nil || r != want || asked != 4 {
				t.Errorf("%+v after %d questions, %v", r, asked, err)
			}
		})
	}
}

// A reader that is slow to take a list, or an operator who thinks, holds no transaction open.
func TestListHoldsNothingWhileItIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 3 {
		w.add("q")
	}
	for _, err := range w.List(t.Context(), Filter{Conditions: []todo.Condition{todo.IsPending}}, Page{}, &Scanned{}) {
		if err != nil {
			t.Fatal(err)
		}
		if open := w.text(`SELECT state FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`); open != "idle" {
			t.Errorf("the connection is %q", open)
		}
	}
}

// is fails the test unless the error has this code.
func (w *world) is(code todo.Code, err error) {
	w.t.Helper()
	if todo.CodeOf(err) != code {
		w.t.Fatalf("%v, not %s", err, code)
	}
}
