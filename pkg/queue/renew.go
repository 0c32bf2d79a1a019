package queue

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Renewal is what became of one lease that Renew was asked for: Renewed, Busy, or else in words how
// the lease was lost.
type Renewal string

// The renewals that are no loss.
const (
	Renewed Renewal = ""
	Busy    Renewal = "busy" // somebody is at the row just now; the lease stays as it was
)

// Lost says that the lease is somebody else's, or has ended.
func (r Renewal) Lost() bool { return r != Renewed && r != Busy }

// Renew extends leases, named by receipt, to ttl from now, as Heartbeat does, for a worker that keeps
// many: it waits for no row that somebody else has locked, so that one of them cannot cost the others
// their leases.
func (c *Client) Renew(ctx context.Context, receipts []todo.Receipt, ttl time.Duration) ([]Renewal, error) {
	done := map[todo.Receipt]bool{}
	for _, part := range parts(receipts) {
		ids, seqs := split(part)
		err := c.run(ctx, repeats, func() []step {
			return []step{{name: "renew", args: pgx.StrictNamedArgs{"ids": ids, "seqs": seqs, "ttl": ttl},
				row: func(row pgx.CollectableRow) error {
					var r todo.Receipt
					err := row.Scan(&r.ID, &r.Seq)
					done[r] = true
					return err
				}}}
		})
		if err != nil {
			return nil, err
		}
	}
	var missed []todo.Receipt
	for _, r := range receipts {
		if !done[r] {
			missed = append(missed, r)
		}
	}
	seen, err := c.classify(ctx, missed)
	if err != nil {
		return nil, err
	}
	list := make([]Renewal, len(receipts))
	for i, r := range receipts {
		s, found := seen[r.ID]
		switch {
		case done[r]:
		case !found:
			list[i] = Renewal(notFound(r.ID).Message)
		case s.todo.State == todo.Claimed && s.todo.LeaseSeq == r.Seq:
			list[i] = Busy
		default:
			list[i] = Renewal(s.lost("renew", r, LeaseParams{}).Message)
		}
	}
	return list, nil
}

// Sibling returns a client of the same database with a connection of its own, which is made when it
// is first used.
func (c *Client) Sibling() *Client { return &Client{opt: c.opt, far: c.far} }
