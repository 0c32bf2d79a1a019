package queue

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Name is a completion: what can be typed, and what it means.
type Name struct {
	Text string
	Note string
}

// Names lists known queues that begin with prefix, at most 50.
func (c *Client) Names(ctx context.Context, prefix string) ([]Name, error) {
	var list []Name
	err := c.run(ctx, reads, func() []step {
		list = nil
		return []step{{name: "names", args: pgx.StrictNamedArgs{"prefix": prefix}, row: func(row pgx.CollectableRow) error {
			var n Name
			err := row.Scan(&n.Text)
			list = append(list, n)
			return err
		}}}
	})
	return list, err
}

// IDs lists live and dead todos whose ids begin with prefix, the newest first, at most 50.
func (c *Client) IDs(ctx context.Context, prefix string) ([]Name, error) {
	var list []Name
	err := c.run(ctx, reads, func() []step {
		list = nil
		return []step{{name: "ids", args: pgx.StrictNamedArgs{"prefix": prefix}, row: func(row pgx.CollectableRow) error {
			var n Name
			var queue, state, title string
			err := row.Scan(&n.Text, &queue, &state, &title)
			n.Note = queue + " " + state + " " + title
			list = append(list, n)
			return err
		}}}
	})
	return list, err
}
