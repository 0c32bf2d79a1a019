package queue

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Holder is an owner that holds leases.
type Holder struct {
	Owner     string    `json:"owner"`
	Leases    int64     `json:"leases"`  // that run
	Expired   int64     `json:"expired"` // that ran out, and that nobody has taken or reaped
	Queues    []string  `json:"queues"`
	Last      todo.Time `json:"last"` // trace: a claim, a renewal or a report of progress
	Until     todo.Time `json:"until"`
	NextID    *string   `json:"next_id"` // of the lease that ends next, at Until
	Estimated bool      `json:"estimated"`
}

// Owners lists who holds leases in the given queues, or in all, whose lease ends next first. limit bounds the rows
// that are read; where it is met there may be more: short says so.
func (c *Client) Owners(ctx context.Context, queues []string, limit int) (list []Holder, short bool, err error) {
	err = c.run(ctx, reads, func() []step {
		list = nil
		return []step{{name: "owners", args: pgx.StrictNamedArgs{"queues": orNull(queues), "cap": limit}, row: func(row pgx.CollectableRow) error {
			var h Holder
			var owner *string
			var leases, lapsed *int64
			err := row.Scan(&owner, &leases, &lapsed, &h.Queues, &h.Last, &h.Until, &h.NextID, &short)
			if owner != nil {
				h.Owner, h.Leases, h.Expired, h.Estimated = *owner, *leases, *lapsed, short
				list = append(list, h)
			}
			return err
		}}}
	})
	slices.SortFunc(list, func(a, b Holder) int {
		at, runs := a.Until.Time()
		to, other := b.Until.Time()
		switch {
		case runs != other && runs:
			return -1
		case runs != other:
			return 1
		}
		return cmp.Or(at.Compare(to), cmp.Compare(a.Owner, b.Owner))
	})
	return list, short, err
}
