package queue

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// leasedEach bounds what is read of each queue to find leases among delays and backoffs.
const leasedEach = 500

// Leased lists leases that still run, those first that end first, at most limit. A lease that stands behind
// hundreds of delays and backoffs of its queue that end sooner is not found.
func (c *Client) Leased(ctx context.Context, queues []string, limit int) ([]todo.Todo, error) {
	var list []todo.Todo
	err := c.run(ctx, reads, func() []step {
		list = nil
		return []step{{name: "leased", args: pgx.StrictNamedArgs{"queues": orNull(queues), "each": leasedEach, "page": limit}, row: collect(&list)}}
	})
	return list, err
}
