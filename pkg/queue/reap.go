package queue

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

const (
	reapSize   = 500    // todos that one transaction of the reaper touches
	reapRows   = 20_000 // that one page walks over
	reapPlaces = 200    // that share a page
)

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
// dead letters of what is at its cap. It reads what is due at its start page by page, so that neither memory nor a
// transaction grows with it, and applies each page in batches that commit each for itself: what was done
// stays done when a later one fails, and the counts are returned with the error. progress, where not nil,
// is told after each. A dry run counts what is due and changes nothing.
func (c *Client) Reap(ctx context.Context, queues []string, dryRun bool, progress func(ReapResult)) (ReapResult, error) {
	var total ReapResult
	places, err := c.reapScope(ctx, queues)
	if err != nil {
		return total, err
	}
	var until *string
	for len(places) > 0 {
		n := min(len(places), reapPlaces)
		page, err := c.reapPage(ctx, places[:n], until, reapRows)
		if err != nil {
			return total, err
		}
		places, until = append(page.next, places[n:]...), page.until
		if dryRun {
			total.add(page.due)
			continue
		}
		for batch := range slices.Chunk(page.ids, reapSize) {
			r, err := c.reapBatch(ctx, batch)
			if err != nil {
				return total, err
			}
			total.add(r)
			if progress != nil {
				progress(total)
			}
		}
	}
	return total, nil
}

// reapPlace is a range of one of the claim's indexes, and how far it has been read.
type reapPlace struct {
	queue    string
	assignee *string // nil: the pool
	at, id   string  // read up to this time, and of those at it up to this id
}

// reapScope finds the places to sweep, in the given queues or in all.
func (c *Client) reapScope(ctx context.Context, only []string) (places []reapPlace, err error) {
	err = c.run(ctx, reads, func() []step {
		places = nil
		return []step{{name: "reap_scope", args: nil, row: func(row pgx.CollectableRow) error {
			p := reapPlace{at: "-infinity"}
			err := row.Scan(&p.queue, &p.assignee)
			if len(only) == 0 || slices.Contains(only, p.queue) {
				places = append(places, p)
			}
			return err
		}}}
	})
	return places, err
}

// reapPage is what one statement read of some places.
type reapPage struct {
	ids   []string
	due   ReapResult
	next  []reapPlace // those of which there is more
	until *string     // the server's clock at the first page: what falls due later waits for the next sweep
}

func (c *Client) reapPage(ctx context.Context, places []reapPlace, until *string, rows int) (page reapPage, err error) {
	var queues, times, ids []string
	var assignees []*string
	for _, p := range places {
		queues, assignees, times, ids = append(queues, p.queue), append(assignees, p.assignee), append(times, p.at), append(ids, p.id)
	}
	err = c.run(ctx, reads, func() []step {
		page = reapPage{until: until}
		return []step{{name: "reap_list", args: pgx.StrictNamedArgs{"queues": queues, "assignees": assignees, "times": times, "ids": ids,
			"until": until, "share": max(rows/len(places), 1)},
			row: func(row pgx.CollectableRow) error {
				var place int
				var id string
				var was todo.State
				var capped bool
				var at, now *string
				err := row.Scan(&place, &id, &was, &capped, &at, &now)
				switch {
				case err != nil:
				case at != nil:
					p := places[place-1]
					p.at, p.id = *at, id
					page.next, page.until = append(page.next, p), now
				default:
					page.due.count(was, capped)
					page.ids = append(page.ids, id)
				}
				return err
			}}}
	})
	return page, err
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
