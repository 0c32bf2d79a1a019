package queue

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// reapSize is how many todos one transaction of the reaper touches.
const reapSize = 500

// ReapResult counts what a sweep did.
type ReapResult struct {
	Requeued int `json:"requeued"` // leases that ran out, pending again
	Retried  int `json:"retried"`  // backoffs that ended, pending again
	Dead     int `json:"dead"`     // at the attempt cap: dead letters
}

func (r *ReapResult) add(o ReapResult) {
	r.Requeued += o.Requeued
	r.Retried += o.Retried
	r.Dead += o.Dead
}

func (r *ReapResult) count(was todo.State, dead bool) {
	switch {
	case dead:
		r.Dead++
	case was == todo.Claimed:
		r.Requeued++
	default:
		r.Retried++
	}
}

// Reap returns lapsed leases and due retries of the given queues, or of all, to pending, and makes
// dead letters of what is at its cap. It lists what is due once, to the end: a statement that stayed
// open meanwhile would hold a snapshot, and would meet the server's statement_timeout. Then it applies
// the list in batches that commit each for itself: what was done stays done when a later one fails, and
// the counts are returned with the error. progress, where not nil, is told after each.
// A dry run counts what is due and changes nothing.
func (c *Client) Reap(ctx context.Context, queues []string, dryRun bool, progress func(ReapResult)) (ReapResult, error) {
	var total ReapResult
	queues, assignees, err := c.reapScope(ctx, queues)
	if err != nil {
		return total, err
	}
	var ids []string
	err = c.run(ctx, reads, func() []step {
		ids, total = nil, ReapResult{}
		return []step{{name: "reap_list", args: pgx.StrictNamedArgs{"queues": queues, "assignees": assignees},
			row: func(row pgx.CollectableRow) error {
				var id string
				var was todo.State
				var capped bool
				err := row.Scan(&id, &was, &capped)
				if dryRun {
					total.count(was, capped)
				} else {
					ids = append(ids, id)
				}
				return err
			}}}
	})
	if err != nil {
		return ReapResult{}, err
	}
	for batch := range slices.Chunk(ids, reapSize) {
		r, err := c.reapBatch(ctx, batch)
		if err != nil {
			return total, err
		}
		total.add(r)
		if progress != nil {
			progress(total)
		}
	}
	return total, nil
}

// reapScope finds the queues to sweep, all where none are given, and the assignees that have todos in them.
func (c *Client) reapScope(ctx context.Context, only []string) (queues, assignees []string, err error) {
	err = c.run(ctx, reads, func() []step {
		queues, assignees = []string{}, []string{}
		return []step{{name: "reap_scope", args: nil, row: func(row pgx.CollectableRow) error {
			var queue string
			var assignee *string
			err := row.Scan(&queue, &assignee)
			if len(only) > 0 && !slices.Contains(only, queue) {
				return err
			}
			queues = append(queues, queue)
			if assignee != nil {
				assignees = append(assignees, *assignee)
			}
			return err
		}}}
	})
	slices.Sort(queues)
	slices.Sort(assignees)
	return slices.Compact(queues), slices.Compact(assignees), err
}

// reapBatch applies the transition to some ids; what is locked or no longer due is left alone.
func (c *Client) reapBatch(ctx context.Context, ids []string) (ReapResult, error) {
	var r ReapResult
	err := c.run(ctx, writes, func() []step {
		r = ReapResult{}
		return []step{{name: "reap", args: pgx.StrictNamedArgs{"ids": ids, "expired": expiredPrint},
			row: func(row pgx.CollectableRow) error {
				var was, is todo.State
				err := row.Scan(&was, &is)
				r.count(was, is == todo.Failed)
				return err
			}}, notify(ids, ids)}
	})
	return r, err
}
