package queue

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Limits on a lease.
const (
	MinTTL     = time.Second
	MaxTTL     = 7 * 24 * time.Hour
	DefaultTTL = 5 * time.Minute
)

// handful is how many rows of a claim are taken before room is made for all that were asked for.
const handful = 16

// expired is the text that a lease which ran out leaves as its error.
const expired = "lease expired"

// expiredPrint is its fingerprint. Every claim needs it, few of them meet such a lease: patterns are not read for it.
const expiredPrint = "2e047181b320"

// ClaimParams says what to claim.
type ClaimParams struct {
	Queues []string      // one or more
	Owner  string        // who will hold the lease
	TTL    time.Duration // length of the lease, MinTTL to MaxTTL
	Limit  int           // at most so many; 0 is one
	Strict bool          // several queues: in the order given, not by the oldest head
	Again  bool          // the caller asks again at once: some may be the answer where there are more, and nothing that of a look that left out what lies below a mark
}

// Claim takes the next due todos under a lease: the caller's own assigned ones first, then the
// pool, each first in first out. Todos at their attempt cap that it meets become dead letters. When
// there is nothing it returns an Error with CodeEmpty that says why.
func (c *Client) Claim(ctx context.Context, p ClaimParams) ([]todo.Todo, error) {
	want := max(p.Limit, 1)
	m := c.mark(p)
	var got []todo.Todo
	// An answer cut short proves nothing: a row may have moved between snapshot and lock.
	for empty := 0; len(got) < want && empty < 2 && !(p.Again && len(got) > 0); {
		claimed, buried, seen, err := c.claimOnce(ctx, p, want-len(got), m)
		if err != nil {
			if len(got) > 0 {
				break // what was claimed must reach the caller; the error comes again on the next call
			}
			return nil, err
		}
		if len(got) == 0 {
			got = claimed // rows are large, and one answer is the rule
		} else {
			got = append(got, claimed...)
		}
		switch {
		case len(claimed)+len(buried) == 0 && seen.some:
			continue // others have taken it: now all queues are looked at
		case len(claimed)+len(buried) == 0:
			if empty++; empty == 2 && seen.bounded && len(got) == 0 && !(p.Again && m.recent()) {
				m.lift()
				empty = 0
			}
			continue
		case len(buried) > 0:
			c.tellEnded(ctx, buried)
			if len(got) < want {
				err = c.buryCapped(ctx, p)
			}
			if err != nil && len(got) == 0 {
				return nil, err
			}
		}
		empty = 0
	}
	if len(got) == 0 {
		return nil, c.whyEmpty(ctx, p)
	}
	sortClaimed(got, p)
	return got, nil
}

// claimOnce runs one claim statement and names apart what it dead-lettered.
func (c *Client) claimOnce(ctx context.Context, p ClaimParams, n int, m *mark) (claimed []todo.Todo, buried []string, seen look, err error) {
	s := step{name: "claim", args: pgx.StrictNamedArgs{
		"owner": p.Owner, "ttl": p.TTL, "n": n, "expired": expiredPrint}}
	if len(p.Queues) == 1 {
		s.args["queue"] = p.Queues[0]
	} else {
		s.name = "claim_many"
		s.args["queues"], s.args["strict"], s.args["until"] = p.Queues, p.Strict, (*time.Time)(nil)
	}
	many := len(p.Queues) >= headsMany && !p.Strict
	after := p.Queues // whose heads are looked at afterwards
	if some, until := m.heads.oldest(p); many && some != nil {
		s.args["queues"], s.args["until"], after = some, until, m.heads.gave
		seen.some = true
	}
	found, some := heads{}, seen.some
	low := m.bound()
	s.low = lowSetting(low)
	first := !m.read
	claimed, buried, err = c.claimStep(ctx, s, n, &seen, func(claim step) (steps []step) {
		seen = look{bounded: !low.IsZero(), some: some}
		if first {
			steps = append(steps, m.step(&seen))
		}
		steps = append(steps, claim)
		if many && len(after) > 0 {
			found = heads{least: map[string]time.Time{}}
			steps = append(steps, m.heads.step(p, after, &found))
		}
		return steps
	})
	if err != nil {
		return nil, nil, seen, err
	}
	m.read = true
	if many {
		m.heads.learn(p, after, found, some, claimed, buried)
	}
	if some {
		return claimed, buried, seen, nil // what was walked over says nothing of the others
	}
	m.learn(seen)
	m.save(ctx, c, seen)
	return claimed, buried, seen, nil
}

// claimStep runs a statement that claims n at most, among the steps that around puts it, and notes what it saw.
func (c *Client) claimStep(ctx context.Context, s step, n int, seen *look, around func(step) []step) (claimed []todo.Todo, buried []string, err error) {
	err = c.run(ctx, writes, func() []step {
		claimed, buried = nil, nil
		var r scanner
		s.row = func(row pgx.CollectableRow) error {
			err := r.scan(row)
			seen.note(&r)
			if r.todo.State == todo.Claimed {
				if len(claimed) == handful {
					claimed = slices.Grow(claimed, max(n-handful, handful))
				}
				claimed = append(claimed, r.todo)
			} else {
				buried = append(buried, r.todo.ID)
			}
			return err
		}
		return around(s)
	})
	return claimed, buried, err
}

// tellEnded wakes who waits for the end of todos that a claim dead-lettered. A fault is none of the claim's: they
// look again by themselves within seconds.
func (c *Client) tellEnded(ctx context.Context, ids []string) {
	_ = c.run(ctx, repeats, func() []step { return []step{notify(ids, nil)} })
}

// buryCapped dead-letters a whole run of todos at their cap, so that they do not cost a claim one
// statement each.
func (c *Client) buryCapped(ctx context.Context, p ClaimParams) error {
	var ids []string
	err := c.run(ctx, reads, func() []step {
		ids = nil
		return []step{{name: "claim_capped", args: pgx.StrictNamedArgs{"queues": p.Queues, "owner": p.Owner},
			row: func(row pgx.CollectableRow) error {
				var id string
				err := row.Scan(&id)
				ids = append(ids, id)
				return err
			}}}
	})
	if err != nil || len(ids) == 0 {
		return err
	}
	_, err = c.reapBatch(ctx, ids)
	return err
}

// sortClaimed puts an answer, which comes in heap order, into the order in which it was chosen.
func sortClaimed(list []todo.Todo, p ClaimParams) {
	mine := func(t *todo.Todo) int {
		if t.Assignee != nil {
			return 0
		}
		return 1
	}
	at := func(t *todo.Todo) time.Time { v, _ := t.RunAt.Time(); return v }
	reorder(list, func(a, b *todo.Todo) int {
		return cmp.Or(cmp.Compare(mine(a), mine(b)), at(a).Compare(at(b)), cmp.Compare(a.ID, b.ID))
	})
	if len(p.Queues) < 2 {
		return
	}
	// Each queue is filled from before the next: rank queues by their first member, own todos apart.
	type group struct {
		mine  int
		queue string
	}
	rank := map[group]int{}
	for i := range list {
		g := group{mine(&list[i]), list[i].Queue}
		if _, seen := rank[g]; !seen {
			rank[g] = i
		}
	}
	reorder(list, func(a, b *todo.Todo) int {
		if p.Strict {
			if d := cmp.Compare(slices.Index(p.Queues, a.Queue), slices.Index(p.Queues, b.Queue)); d != 0 {
				return d
			}
		}
		return cmp.Compare(rank[group{mine(a), a.Queue}], rank[group{mine(b), b.Queue}])
	})
}

// reorder sorts stably. Rows are large, and mostly in order already: pointers are compared and moved in their place.
func reorder(list []todo.Todo, compare func(a, b *todo.Todo) int) {
	order := make([]*todo.Todo, len(list))
	for i := range list {
		order[i] = &list[i]
	}
	if slices.IsSortedFunc(order, compare) {
		return
	}
	slices.SortStableFunc(order, compare)
	sorted := make([]todo.Todo, len(list))
	for i, t := range order {
		sorted[i] = *t
	}
	copy(list, sorted)
}

// ClaimID takes one todo by its id. A todo that cannot be claimed now is a conflict that says why;
// an unknown one is not found.
func (c *Client) ClaimID(ctx context.Context, id, owner string, ttl time.Duration) (todo.Todo, error) {
	s := step{name: "claim_id", args: pgx.StrictNamedArgs{
		"id": id, "owner": owner, "ttl": ttl, "expired": expiredPrint}}
	for miss := 0; miss < 2; miss++ {
		claimed, buried, err := c.claimStep(ctx, s, 1, &look{}, func(s step) []step { return []step{s} })
		if err != nil {
			return todo.Todo{}, err
		}
		if len(buried) > 0 {
			c.tellEnded(ctx, buried)
		}
		if len(claimed) == 1 {
			return claimed[0], nil
		}
	}
	return todo.Todo{}, c.refusal(ctx, "claim", todo.Receipt{ID: id}, owner)
}

// Unclaim gives back a todo whose claim nobody learnt of: its output could not be written, or the
// process was told to end. It works under a context of its own, since the caller's may be over.
func (c *Client) Unclaim(ctx context.Context, list []todo.Todo, why string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var errs []error
	receipts := make([]todo.Receipt, len(list))
	for i, t := range list {
		receipts[i] = todo.Receipt{ID: t.ID, Seq: t.LeaseSeq}
	}
	results, err := c.Release(ctx, LeaseParams{Receipts: receipts}, nil, &why)
	errs = append(errs, err)
	for _, r := range results {
		if r.Error != nil {
			errs = append(errs, r.Error)
		}
	}
	return errors.Join(errs...)
}
