package queue

import (
	"fmt"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// everything is every row that the verbs can change, as text.
func (w *world) everything() string {
	w.t.Helper()
	return w.text(`SELECT t::text FROM (SELECT * FROM todos ORDER BY id) t UNION ALL SELECT a::text FROM (SELECT * FROM todo_attempts ORDER BY todo_id, lease_seq) a
		UNION ALL SELECT e::text FROM (SELECT * FROM events ORDER BY id) e UNION ALL SELECT q::text FROM (SELECT * FROM queues ORDER BY name) q`)
}

// rows fills the tables with todos in every condition, five of each, in which every column holds something, with history.
const undoRows = `
INSERT INTO queues (name) VALUES ('q'), ('r');
INSERT INTO events (id, source, payload) VALUES ('ev_1', 's', '{"n": 1.10}');
INSERT INTO todos (id, queue, source, kind, title, payload, event_id, idempotency_key, assignee, state, owner, lease_expires_at, lease_seq, attempt,
  max_attempts, result, error, fingerprint, progress, progress_seq, next_retry_at, run_at, created_at, updated_at, claimed_at, completed_at)
SELECT 'td_' || c || i, 'q', 's', 'k', 't"\' || i, CASE WHEN i = 3 THEN 'null' ELSE '{"n": 12345678901234567890.10, "s": "\u00e4\n"}' END::jsonb, 'ev_1', c || i, CASE WHEN i = 5 THEN 'bob' END,
  CASE c WHEN 'pending' THEN 'pending' WHEN 'delayed' THEN 'pending' WHEN 'done' THEN 'done' WHEN 'dead' THEN 'failed' WHEN 'retrying' THEN 'failed' ELSE 'claimed' END,
  CASE WHEN c IN ('claimed', 'expired', 'done', 'dead') THEN 'w' END, CASE c WHEN 'claimed' THEN now() + interval '1 h' WHEN 'expired' THEN now() - interval '1 h' END,
  i + 1, 2, 3, CASE WHEN i = 1 THEN '[1.0]'::jsonb WHEN i = 2 THEN 'null' END, CASE WHEN i > 1 THEN 'boom ' || i END, CASE WHEN i > 1 THEN 'f' || i END, 7, i + 1, CASE c WHEN 'retrying' THEN now() + interval '1 h' END,
  now() + CASE WHEN c IN ('delayed', 'retrying') THEN interval '1 h' ELSE interval '-1 h 0.123456 s' END, now() - interval '3 h', now() - interval '2 h 0.654321 s',
  CASE WHEN c IN ('claimed', 'expired', 'done', 'dead') THEN now() - interval '2 h' END, CASE WHEN c IN ('done', 'dead') THEN now() - interval '2 h' END
FROM unnest(ARRAY['pending', 'delayed', 'claimed', 'expired', 'retrying', 'dead', 'done']) c, generate_series(1, 5) i;
INSERT INTO todo_attempts (todo_id, lease_seq, attempt, owner, claimed_at, ended_at, outcome, error, result)
SELECT id, n, n, 'w', now() - interval '5 h 0.000001 s', now() - interval '4 h', 'failed', 'boom',
  CASE n WHEN 1 THEN '{"x": 1.00}'::jsonb WHEN 2 THEN 'null' END FROM todos, generate_series(1, CASE WHEN state IN ('claimed', 'done') THEN lease_seq - 1 ELSE lease_seq END) n;
UPDATE queues SET paused_at = now() - interval '1 h', paused_until = now() + interval '1 h', paused_by = 'ann', reason = 'x' WHERE name = 'r'`

// named returns the ids of todos that were made in a condition.
func named(condition string, of ...int) (ids []string) {
	for _, i := range of {
		ids = append(ids, fmt.Sprint("td_", condition, i))
	}
	return ids
}

func holders(condition string, of ...int) (p LeaseParams) {
	for _, id := range named(condition, of...) {
		p.Receipts = append(p.Receipts, todo.Receipt{ID: id})
	}
	p.Force = true
	return p
}

// undoable are the verbs of an operator; each returns how many it must have changed.
func undoable() map[string]func(w *world) (int, error) {
	all := []int{1, 2, 3, 4, 5}
	dead := Filter{Conditions: []todo.Condition{todo.IsDead}}
	byID := func(n int, list []Result, err error) (int, error) { return n, err }
	sweep := func(n int, s Sweep, err error) (int, error) {
		if s.Changed != n {
			return n, fmt.Errorf("%+v, want %d", s, n)
		}
		return n, err
	}
	return map[string]func(w *world) (int, error){
		"retry": func(w *world) (int, error) {
			list, err := w.Retry(w.t.Context(), append(named("dead", all...), named("retrying", all...)...), RetryParams{MaxAttempts: ptr(9), Delay: time.Hour})
			return byID(10, list, err)
		},
		"retry by filter": func(w *world) (int, error) {
			s, err := w.RetryAll(w.t.Context(), dead, RetryParams{}, nil)
			return sweep(5, s, err)
		},
		"bury": func(w *world) (int, error) {
			s, err := w.BuryAll(w.t.Context(), Filter{}, BuryParams{Reason: ptr("spam")}, nil)
			return sweep(20, s, err)
		},
		"bury by force": func(w *world) (int, error) {
			list, err := w.Bury(w.t.Context(), append(named("claimed", all...), named("pending", all...)...), BuryParams{Force: true})
			return byID(10, list, err)
		},
		"bump": func(w *world) (int, error) {
			s, err := w.BumpAll(w.t.Context(), Filter{}, BumpParams{Front: true}, nil)
			return sweep(10, s, err)
		},
		"purge": func(w *world) (int, error) {
			s, err := w.Purge(w.t.Context(), Filter{}, nil, nil)
			return sweep(5, s, err)
		},
		"fail": func(w *world) (int, error) {
			list, err := w.Fail(w.t.Context(), holders("claimed", all...), FailParams{Error: "stuck", Result: ptr(`{"y":2.0}`)})
			return byID(5, list, err)
		},
		"fail to dead": func(w *world) (int, error) {
			list, err := w.Fail(w.t.Context(), holders("expired", all...), FailParams{Error: "stuck", Dead: true})
			return byID(5, list, err)
		},
		"release": func(w *world) (int, error) {
			list, err := w.Release(w.t.Context(), holders("claimed", all...), ptr(time.Hour), ptr("why"))
			return byID(5, list, err)
		},
		"pause": func(w *world) (int, error) {
			_, err := w.Pause(w.t.Context(), []string{"q", "r", "new"}, ptr(time.Hour), "bob", ptr("y"))
			return 3, err
		},
		"resume": func(w *world) (int, error) {
			_, err := w.Resume(w.t.Context(), []string{"q", "r"}, nil)
			return 1, err
		},
	}
}

// last is the op of the newest row of the journal.
func (w *world) last() string {
	return w.text("SELECT op FROM todo_journal ORDER BY at DESC, op DESC LIMIT 1")
}
