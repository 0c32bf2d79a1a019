package queue

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Complete acknowledges todos, with one result (JSON) for all of them or none. Repeating it with the
// same receipt succeeds, and the Result says that it had been done already.
func (c *Client) Complete(ctx context.Context, p LeaseParams, result *string) ([]Result, error) {
	return c.lease(ctx, "complete", p, ended{state: todo.Done}, pgx.StrictNamedArgs{"result": result})
}
