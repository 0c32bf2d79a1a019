package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// actor is what one of the clients in chaos does, again and again.
type actor struct {
	many int
	act  func(ctx context.Context, x *chaos, c *Client, r *rand.Rand) error
}

// brief is the length of a lease or a backoff in chaos.
func brief(r *rand.Rand) time.Duration { return time.Duration(5+r.IntN(81)) * time.Millisecond }

func pick(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

func owners() []string { return []string{"o0", "o1", "o2"} } // fewer than claimers: some share a name

// anew makes a todo; most have one of few keys.
func anew(r *rand.Rand) NewTodo {
	n := NewTodo{Queue: pick(r, queues()), Payload: "null", MaxAttempts: 1 + r.IntN(4)}
	if r.IntN(8) > 0 {
		n.Key = ptr(fmt.Sprint("k", r.IntN(12)))
	}
	if r.IntN(6) == 0 {
		n.Assignee = ptr(pick(r, owners()))
	}
	if r.IntN(4) == 0 {
		n.Delay = ptr(brief(r) - 40*time.Millisecond)
	}
	return n
}

func actors() map[string]actor {
	results := func(name string, f func(context.Context, *chaos, *Client, *rand.Rand) ([]Result, error)) func(context.Context, *chaos, *Client, *rand.Rand) error {
		return func(ctx context.Context, x *chaos, c *Client, r *rand.Rand) error {
			list, err := f(ctx, x, c, r)
			x.counted(name, list)
			return err
		}
	}
	return map[string]actor{
		"claim": {4, func(ctx context.Context, x *chaos, c *Client, r *rand.Rand) error {
			owner := pick(r, owners())
			if ids := x.someIDs(r, 1); r.IntN(6) == 0 && len(ids) == 1 {
				t, err := c.ClaimID(ctx, ids[0], owner, brief(r))
				if err == nil {
					x.claimed(owner, []todo.Todo{t})
				}
				return expected(err, todo.CodeConflict, todo.CodeNotFound)
			}
			p := ClaimParams{Queues: queues()[:1+r.IntN(3)], Owner: owner, TTL: brief(r), Limit: 1 + r.IntN(6), Strict: r.IntN(2) == 0}
			got, err := c.Claim(ctx, p)
			x.claimed(owner, got)
			return expected(err, todo.CodeEmpty)
		}},
		"complete": {3, func(ctx context.Context, x *chaos, c *Client, r *rand.Rand) error {
			p := x.leasesFor(r, 6)
			if len(p.Receipts) == 0 || p.Receipts[0].Seq == 0 || r.IntN(2) == 0 {
				list, err := c.Complete(ctx, p, ptr("1"))
				x.completed(list, p)
				return err
			}
			percents, each := map[todo.Receipt]int{}, []Completion{}
			for _, l := range distinct(p.Receipts) {
				percents[l] = r.IntN(101)
				each = append(each, Completion{Receipt: l, Result: ptr("2")})
			}
			if err := c.SetProgress(ctx, percents); err != nil {
				return err
			}
			list, err := c.CompleteEach(ctx, each)
			x.completed(list, p)
			return err
		}},
		"heartbeat": {3, results("heartbeat", func(ctx context.Context, x *chaos, c *Client, r *rand.Rand) ([]Result, error) {
			return c.Heartbeat(ctx, x.leasesFor(r, 8), brief(r))
		})},
		"fail": {2, results("fail", func(ctx context.Context, x *chaos, c *Client, r *rand.Rand) ([]Result, error) {
			return c.Fail(ctx, x.leasesFor(r, 6), FailParams{Error: "x", RetryIn: ptr(brief(r)), Dead: r.IntN(3) == 0})
		})},
		"release": {1, results("release", func(ctx context.Context, x *chaos, c *Client, r *rand.Rand) ([]Result, error) {
			p := x.leasesFor(r, 6)
			p.Force = r.IntN(4) == 0
			return c.Release(ctx, p, nil, nil)
		})},
		"reap": {2, func(ctx context.Context, x *chaos, c *Client, r *rand.Rand) error {
			n, err := c.Reap(ctx, nil, false, nil)
			x.add("reap", n.Requeued+n.Retried+n.Dead)
			return err
		}},
		"retry": {2, results("retry", func(ctx context.Context, x *chaos, c *Client, r *rand.Rand) ([]Result, error) {
			if r.IntN(2) == 0 {
				s, err := c.RetryAll(ctx, Filter{Conditions: []todo.Condition{todo.IsDead}, Queues: queues()[:1+r.IntN(3)]}, RetryParams{}, nil)
				x.add("retry", s.Changed)
				return nil, err
			}
			return c.Retry(ctx, x.someIDs(r, 30), RetryParams{Delay: brief(r)})
		})},
		"bury": {1, results("bury", func(ctx context.Context, x *chaos, c *Client, r *rand.Rand) ([]Result, error) {
			return c.Bury(ctx, x.someIDs(r, 4), BuryParams{Force: r.IntN(3) == 0})
		})},
		"bump": {1, results("bump", func(ctx context.Context, x *chaos, c *Client, r *rand.Rand) ([]Result, error) {
			return c.Bump(ctx, x.someIDs(r, 6), BumpParams{By: brief(r), Front: r.IntN(2) == 0})
		})},
		"pause": {1, func(ctx context.Context, x *chaos, c *Client, r *rand.Rand) error {
			q := []string{pick(r, queues())}
			_, err := c.Pause(ctx, q, ptr(brief(r)), "p", nil)
			if r.IntN(2) == 0 && err == nil {
				_, err = c.Resume(ctx, q, nil)
			}
			x.add("pause", 1)
			return errors.Join(err, rest(ctx, 4*brief(r)))
		}},
		"undo": {1, func(ctx context.Context, x *chaos, c *Client, r *rand.Rand) error {
			list, _, err := c.Journal(ctx, JournalFilter{Verbs: []string{"retry", "bury", "bump", "release", "pause", "resume"}}, "", 20)
			if err != nil || len(list) == 0 {
				return err
			}
			u, err := c.Undo(ctx, UndoParams{Op: list[r.IntN(len(list))].Op, DryRun: r.IntN(4) == 0}, nil)
			x.add("undo", u.Changed)
			return errors.Join(err, rest(ctx, brief(r)))
		}},
		"enqueue": {2, func(ctx context.Context, x *chaos, c *Client, r *rand.Rand) error {
			e, err := c.Enqueue(ctx, anew(r))
			if err == nil && e.Created {
				x.add("enqueue", 1)
			}
			return err
		}},
		"bulk": {3, func(ctx context.Context, x *chaos, c *Client, r *rand.Rand) error {
			list := make([]NewTodo, 10+r.IntN(40))
			for i := range list {
				list[i] = anew(r)
			}
			lines := 0
			var o BulkOptions
			if r.IntN(2) == 0 {
				o.Each = func(l BulkLine) error { lines++; x.mu.Lock(); x.see(l.ID); x.mu.Unlock(); return nil }
			}
			n, err := c.EnqueueMany(ctx, source(list), o)
			if err == nil && (n.Created+n.Duplicates != len(list) || o.Each != nil && lines != len(list)) {
				err = fmt.Errorf("%d lines: %+v, %d told", len(list), n, lines)
			}
			x.add("bulk", n.Created)
			return errors.Join(err, rest(ctx, brief(r)/2))
		}},
		"prune": {1, func(ctx context.Context, x *chaos, c *Client, r *rand.Rand) error {
			n, err := c.Prune(ctx, PruneParams{OlderThan: time.Second, States: []todo.Condition{todo.IsDone, todo.IsDead}}, nil)
			x.add("prune", n.Deleted)
			return errors.Join(err, rest(ctx, 5*brief(r)))
		}},
		"list": {1, func(ctx context.Context, x *chaos, c *Client, r *rand.Rand) error {
			for t, err := range c.List(ctx, Filter{Conditions: []todo.Condition{todo.IsPending, todo.IsDead, todo.IsClaimed}}, Page{}, &Scanned{}) {
				if err != nil {
					return err
				}
				x.mu.Lock()
				x.see(t.ID)
				x.count["list"]++
				x.mu.Unlock()
			}
			_, err := c.Queues(ctx, nil, 0)
			return errors.Join(err, rest(ctx, 2*brief(r)))
		}},
	}
}

// expected drops the errors that are answers.
func expected(err error, codes ...todo.Code) error {
	for _, c := range codes {
		if todo.CodeOf(err) == c {
			return nil
		}
	}
	return err
}

// rest lets others have their turn.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
