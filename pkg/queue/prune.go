package queue

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// PruneParams says what retention takes away.
type PruneParams struct {
	OlderThan time.Duration    // ended longer ago than this
	Keep      int              // but never the newest so many of each queue and state
	States    []todo.Condition // done, dead or both
	Queues    []string         // empty: all
	DryRun    bool
	Reason    *string // for the journal
}

// PruneResult counts what was deleted, or in a dry run would be.
type PruneResult struct {
	Op      *string `json:"op"` // in the journal; null where nothing was deleted
	Verb    string  `json:"verb"`
	Matched int     `json:"matched"`
	Deleted int     `json:"deleted"`
	Events  int     `json:"events"` // deliveries that no todo refers to any more
}

// journal is what the journal notes of it.
func (p PruneParams) journal() map[string]any {
	m := map[string]any{"older_than": p.OlderThan.String(), "keep": p.Keep, "state": p.States}
	if len(p.Queues) > 0 {
		m["queue"] = p.Queues
	}
	return m
}

// Prune deletes done and dead todos with their history, and old events that nothing refers to, page
// by page in order of creation. Each page commits for itself: what is done stays done. It keeps nothing for undo, and drops
// before-images of other verbs whose time is over, and the journal's own rows after Options.KeepJournal.
func (c *Client) Prune(ctx context.Context, p PruneParams, progress func(PruneResult)) (PruneResult, error) {
	r := PruneResult{Verb: "prune"}
	o, err := newOp("prune", p.journal(), nil, p.Reason)
	if err != nil {
		return r, err
	}
	args, err := c.pruneArgs(ctx, p)
	if err != nil {
		return r, err
	}
	for full := true; full; {
		var ids []string
		if ids, full, err = c.prunePage(ctx, args); err != nil {
			return r, err
		}
		r.Matched += len(ids)
		if p.DryRun || len(ids) == 0 {
			continue
		}
		n := 0
		err := c.run(ctx, repeats, func() []step {
			n = 0
			return []step{c.entry(o, new(0), new(0)), {name: "prune", args: pgx.StrictNamedArgs{"op": o.id, "ids": ids},
				row: func(pgx.CollectableRow) error { n++; return nil }}}
		})
		if err != nil {
			return r, err
		}
		r.Op = &o.id
		if r.Deleted += n; progress != nil {
			progress(r)
		}
	}
	if p.DryRun {
		return r, nil
	}
	c.dropImages(ctx, 100)
	if err := c.pruneJournal(ctx); err != nil {
		return r, err
	}
	if len(p.Queues) > 0 {
		return r, nil
	}
	return r, c.pruneEvents(ctx, p, &r)
}

// pruneArgs prepares the parameters of the page statement: the filters, and where the newest are kept, how far they reach.
func (c *Client) pruneArgs(ctx context.Context, p PruneParams) (pgx.StrictNamedArgs, error) {
	states := []string{}
	for _, s := range p.States {
		if s == todo.IsDone {
			states = append(states, string(todo.Done))
		} else {
			states = append(states, string(todo.Failed))
		}
	}
	var queues, kinds, ids []string
	var at []*string
	if p.Keep > 0 {
		err := c.run(ctx, reads, func() []step {
			queues, kinds, at, ids = nil, nil, nil, nil
			return []step{{name: "prune_newest", args: pgx.StrictNamedArgs{"states": states, "queues": orNull(p.Queues), "keep": p.Keep},
				row: func(row pgx.CollectableRow) error {
					var queue, state, id string
					var end *string
					err := row.Scan(&queue, &state, &end, &id)
					queues, kinds, at, ids = append(queues, queue), append(kinds, state), append(at, end), append(ids, id)
					return err
				}}}
		})
		if err != nil {
			return nil, err
		}
	}
	return pgx.StrictNamedArgs{"after": "", "page": pageSize, "older_than": p.OlderThan, "states": states, "queues": orNull(p.Queues),
		"keep": p.Keep, "kept_queues": queues, "kept_states": kinds, "kept_at": at, "kept_ids": ids}, nil
}

// prunePage reads one page, moves the start to its end, and returns the ids that retention takes from it.
func (c *Client) prunePage(ctx context.Context, args pgx.StrictNamedArgs) (ids []string, full bool, err error) {
	var last string
	err = c.run(ctx, reads, func() []step {
		ids, full = nil, false
		n := 0
		return []step{{name: "prune_list", args: args, row: func(row pgx.CollectableRow) error {
			var take bool
			err := row.Scan(&last, &take)
			if take {
				ids = append(ids, last)
			}
			n++
			full = n == pageSize
			return err
		}}}
	})
	args["after"] = last
	return ids, full, err
}

func (c *Client) pruneEvents(ctx context.Context, p PruneParams, r *PruneResult) error {
	for after, n := "", 1; n > 0; r.Events += n {
		var last string
		err := c.run(ctx, repeats, func() []step {
			n, last = 0, after
			return []step{{name: "prune_events", args: pgx.StrictNamedArgs{"after": after, "older_than": p.OlderThan, "page": pageSize},
				row: func(row pgx.CollectableRow) error {
					n++
					var id string
					err := row.Scan(&id)
					last = max(last, id)
					return err
				}}}
		})
		if err != nil {
			return err
		}
		after = last
	}
	return nil
}

// pruneJournal deletes the journal's own rows whose time is over, page by page.
func (c *Client) pruneJournal(ctx context.Context) error {
	for n := pageSize; n == pageSize; {
		err := c.run(ctx, repeats, func() []step {
			n = 0
			return []step{{name: "journal_prune", args: pgx.StrictNamedArgs{"keep": c.opt.KeepJournal, "page": pageSize},
				row: func(pgx.CollectableRow) error { n++; return nil }}}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
