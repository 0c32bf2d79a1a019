package queue

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// situations make the only todo of queue q, in every condition that there is, and return it as its
// last lease was claimed, by owner a. It carries error "old" where it has failed before.
func situations() map[string]func(w *world) todo.Todo {
	leased := func(w *world, set ...func(*NewTodo)) todo.Todo {
		w.add("q", set...)
		return w.takeOne("q", "a")
	}
	failed := func(w *world, f FailParams) todo.Todo {
		t := leased(w)
		f.Error = "old"
		w.done(w.Fail(w.t.Context(), lease(t), f))
		return t
	}
	waiting := func(w *world, set ...func(*NewTodo)) todo.Todo { return todo.Todo{ID: w.add("q", set...), LeaseSeq: 1} }
	return map[string]func(w *world) todo.Todo{
		"pending": func(w *world) todo.Todo { return waiting(w) },
		"delayed": func(w *world) todo.Todo { return waiting(w, delay(time.Hour)) },
		"claimed": func(w *world) todo.Todo { return leased(w) },
		"expired": func(w *world) todo.Todo { t := leased(w); w.lapse(t.ID); return t },
		"last":    func(w *world) todo.Todo { return leased(w, budget(1)) },
		"spent":   func(w *world) todo.Todo { t := leased(w, budget(1)); w.lapse(t.ID); return t },
		"retrying": func(w *world) todo.Todo {
			return failed(w, FailParams{RetryIn: ptr(time.Hour)})
		},
		"due":  func(w *world) todo.Todo { return failed(w, FailParams{RetryIn: ptr(time.Duration(0))}) },
		"dead": func(w *world) todo.Todo { return failed(w, FailParams{Dead: true}) },
		"done": func(w *world) todo.Todo {
			t := leased(w)
			w.done(w.Complete(w.t.Context(), lease(t), nil))
			return t
		},
		"assigned": func(w *world) todo.Todo { return waiting(w, assignee("z")) },
		"paused": func(w *world) todo.Todo {
			t := waiting(w)
			if _, err := w.Pause(w.t.Context(), []string{"q"}, nil, "op", nil); err != nil {
				w.t.Fatal(err)
			}
			return t
		},
	}
}

// move is a verb: what it may be done to and what becomes of that, and what else must hold then. Whatever
// to does not name is refused and stays as it is.
type move struct {
	do     func(w *world, t todo.Todo) todo.Code
	to     map[string]todo.Condition
	effect string // SQL over the row; now_ is the transaction's time
}

func moves() map[string]move {
	type m = map[string]todo.Condition
	held := m{"claimed": "", "expired": "", "last": "", "spent": ""} // a lease that ran out can still be ended
	becomes := func(c todo.Condition) m {
		out := m{}
		for s := range held {
			out[s] = c
		}
		return out
	}
	result := func(f func(w *world, t todo.Todo) ([]Result, error)) func(w *world, t todo.Todo) todo.Code {
		return func(w *world, t todo.Todo) todo.Code {
			list, err := f(w, t)
			return code(w.t, list, err)
		}
	}
	failing := becomes(todo.IsRetrying)
	failing["last"], failing["spent"] = todo.IsDead, todo.IsDead
	return map[string]move{
		"claim": {func(w *world, t todo.Todo) todo.Code {
			_, err := w.Claim(w.t.Context(), one("q", "b"))
			return errCode(err)
		}, m{"pending": "claimed", "expired": "claimed", "due": "claimed", "spent": "dead"},
			`state = 'failed' OR owner = 'b' AND lease_expires_at = now_ + interval '1 min' AND claimed_at = now_ AND completed_at IS NULL`},
		"claim by id": {func(w *world, t todo.Todo) todo.Code {
			_, err := w.ClaimID(w.t.Context(), t.ID, "b", time.Minute)
			return errCode(err)
		}, m{"pending": "claimed", "expired": "claimed", "due": "claimed", "spent": "dead"},
			`state = 'failed' OR owner = 'b' AND lease_expires_at = now_ + interval '1 min' AND claimed_at = now_ AND lease_seq >= attempt`},
		"heartbeat": {result(func(w *world, t todo.Todo) ([]Result, error) { return w.Heartbeat(w.t.Context(), lease(t), time.Hour) }),
			becomes(todo.IsClaimed), `owner = 'a' AND lease_expires_at = now_ + interval '1 h' AND lease_seq = 1 AND attempt = 1 AND claimed_at < now_`},
		"complete": {result(func(w *world, t todo.Todo) ([]Result, error) { return w.Complete(w.t.Context(), lease(t), ptr("1")) }),
			becomes(todo.IsDone), `owner = 'a' AND completed_at = now_ AND claimed_at < now_ AND lease_seq = 1 AND attempt = 1 AND result = '1'`},
		"fail": {result(func(w *world, t todo.Todo) ([]Result, error) {
			return w.Fail(w.t.Context(), lease(t), FailParams{Error: "new"})
		}), failing, `error = 'new' AND fingerprint IS NOT NULL AND attempt = 1 AND lease_seq = 1
			AND (owner = 'a' AND completed_at = now_ OR next_retry_at = now_ + interval '30 s' AND run_at = next_retry_at AND owner IS NULL)`},
		"fail dead": {result(func(w *world, t todo.Todo) ([]Result, error) {
			return w.Fail(w.t.Context(), lease(t), FailParams{Error: "new", Dead: true})
		}), becomes(todo.IsDead), `error = 'new' AND owner = 'a' AND claimed_at < now_ AND completed_at = now_ AND attempt = 1 AND lease_seq = 1`},
		"release": {result(func(w *world, t todo.Todo) ([]Result, error) { return w.Release(w.t.Context(), lease(t), nil, nil) }),
			becomes(todo.IsPending), `owner IS NULL AND attempt = 0 AND lease_seq = 1 AND run_at < now_ AND error IS NULL`},
		"release with delay": {result(func(w *world, t todo.Todo) ([]Result, error) {
			return w.Release(w.t.Context(), lease(t), ptr(time.Hour), nil)
		}), becomes(todo.IsDelayed), `owner IS NULL AND attempt = 0 AND run_at = now_ + interval '1 h'`},
		"reap": {func(w *world, t todo.Todo) todo.Code {
			r, err := w.Reap(w.t.Context(), nil, false, nil)
			if err != nil {
				w.t.Fatal(err)
			}
			if r == (ReapResult{}) {
				return todo.CodeEmpty
			}
			return ""
		}, m{"expired": "pending", "spent": "dead", "due": "pending"},
			`attempt = 1 AND lease_seq = 1 AND (state = 'failed' AND owner = 'a' AND completed_at = now_ OR owner IS NULL AND claimed_at IS NULL) AND error IN ('lease expired', 'old')`},
		"retry": {result(func(w *world, t todo.Todo) ([]Result, error) {
			return w.Retry(w.t.Context(), []string{t.ID}, RetryParams{MaxAttempts: ptr(9)})
		}), m{"dead": "pending", "retrying": "pending", "due": "pending"},
			`attempt = 0 AND max_attempts = 9 AND lease_seq = 1 AND run_at = now_ AND owner IS NULL AND claimed_at IS NULL AND completed_at IS NULL AND error = 'old'`},
		"retry by filter": {func(w *world, _ todo.Todo) todo.Code {
			return swept(w.t)(w.RetryAll(w.t.Context(), anything(), RetryParams{}, nil))
		},
			m{"dead": "pending"}, `attempt = 0 AND max_attempts = 5 AND run_at = now_`},
		"retry by filter of retrying": {func(w *world, _ todo.Todo) todo.Code {
			return swept(w.t)(w.RetryAll(w.t.Context(), anything(), RetryParams{Retrying: true, Delay: time.Hour}, nil))
		}, m{"retrying": "delayed", "due": "delayed"}, `attempt = 0 AND run_at = now_ + interval '1 h'`},
		"bump": {result(func(w *world, t todo.Todo) ([]Result, error) {
			return w.Bump(w.t.Context(), []string{t.ID}, BumpParams{By: 2 * time.Hour})
		}), m{"pending": "pending", "delayed": "pending", "assigned": "pending", "paused": "pending"}, `run_at < now_ - interval '30 min' AND attempt = 0`},
		"bump to the front": {result(func(w *world, t todo.Todo) ([]Result, error) {
			return w.Bump(w.t.Context(), []string{t.ID}, BumpParams{Front: true})
		}), m{"pending": "pending", "delayed": "pending", "assigned": "pending", "paused": "pending"}, `run_at < now_ AND attempt = 0`},
		"bury": {result(func(w *world, t todo.Todo) ([]Result, error) {
			return w.Bury(w.t.Context(), []string{t.ID}, BuryParams{Reason: ptr("why")})
		}), m{"pending": "dead", "delayed": "dead", "assigned": "dead", "paused": "dead", "retrying": "dead", "due": "dead", "expired": "dead", "spent": "dead"},
			`error = 'why' AND completed_at = now_ AND attempt <= 1 AND lease_seq <= 1`},
		"bury by filter": {func(w *world, _ todo.Todo) todo.Code {
			return swept(w.t)(w.BuryAll(w.t.Context(), anything(), BuryParams{}, nil))
		},
			m{"pending": "dead", "delayed": "dead", "assigned": "dead", "paused": "dead", "retrying": "dead", "due": "dead", "expired": "dead", "spent": "dead"},
			`error IN ('buried', 'old') AND completed_at = now_`},
		"bury by force": {result(func(w *world, t todo.Todo) ([]Result, error) {
			return w.Bury(w.t.Context(), []string{t.ID}, BuryParams{Force: true})
		}), m{"pending": "dead", "delayed": "dead", "assigned": "dead", "paused": "dead", "retrying": "dead", "due": "dead", "expired": "dead", "spent": "dead", "claimed": "dead", "last": "dead"},
			`error IN ('buried', 'old') AND completed_at = now_ AND (lease_seq = 0 OR owner = 'a' OR error = 'old')`},
	}
}

func anything() Filter { return Filter{Queues: []string{"q"}} }

func errCode(err error) todo.Code {
	if err == nil {
		return ""
	}
	return todo.CodeOf(err)
}

// swept turns a sweep over one todo into a code.
func swept(t *testing.T) func(Sweep, error) todo.Code {
	return func(s Sweep, err error) todo.Code {
		if err != nil {
			t.Fatal(err)
		}
		if s.Changed == 1 {
			return ""
		}
		return todo.CodeConflict
	}
}

// A transition for each row of the contract's table, and for each pair that it does not name a refusal
// that changes nothing.
func TestTransitions(t *testing.T) {
	made := situations()
	for verb, m := range moves() {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for _, from := range slices.Sorted(maps.Keys(made)) {
				w.exec("TRUNCATE todos, todo_attempts, queues")
				item := made[from](w)
				const all = `SELECT row_to_json(t)::text FROM todos t UNION ALL SELECT row_to_json(a)::text FROM todo_attempts a`
				before := w.text(all)
				got := m.do(w, item)
				want, allowed := m.to[from]
				repeated := from == "done" && verb == "complete" ||
					strings.HasPrefix(verb, "fail") && slices.Contains([]string{"dead", "retrying", "due"}, from)
				switch {
				case repeated:
					if got != "already" {
						t.Errorf("%s: the same receipt again: %q", from, got)
					}
				case !allowed && got != todo.CodeConflict && got != todo.CodeEmpty:
					t.Errorf("%s: it was not refused: %q", from, got)
				case allowed && got != "" && want != todo.IsDead:
					t.Errorf("%s: refused: %s", from, got)
				}
				if after := w.text(all); !allowed && after != before {
					t.Errorf("%s: refused, and yet it changed\n%s\nto\n%s", from, before, after)
				}
				if allowed {
					s, err := w.Show(t.Context(), item.ID)
					if err != nil || s.Condition != want {
						t.Errorf("%s: it is %s, not %s, %v", from, s.Condition, want, err)
					}
					if ok := w.text("SELECT (" + m.effect + ")::text FROM (SELECT *, updated_at AS now_ FROM todos) t"); ok != "true" {
						t.Errorf("%s: it is now\n%s\nwhich is not %s", from, w.text(all), m.effect)
					}
				}
				sound(t.Context(), t, w.sql)
			}
		})
	}
}
