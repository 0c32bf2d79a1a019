package queue

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Look reads how todos are now, in the order in which they are named; one that is not there has the
// error that says so.
func (c *Client) Look(ctx context.Context, receipts []todo.Receipt) ([]Result, error) {
	seen := map[string]todo.Todo{}
	for _, part := range parts(receipts) {
		ids, _ := split(part)
		err := c.run(ctx, reads, func() []step {
			return []step{{name: "show", args: pgx.StrictNamedArgs{"ids": ids}, row: keep(seen)}}
		})
		if err != nil {
			return nil, err
		}
	}
	list := make([]Result, len(receipts))
	for i, r := range receipts {
		if t, ok := seen[r.ID]; ok {
			list[i] = result(&t)
		} else {
			list[i] = Result{ID: r.ID, Error: notFound(r.ID)}
		}
	}
	return list, nil
}
