package queue

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Release gives leases back without spending the attempt. The todos keep their old place, unless
// delay moves them; text, where given, goes into the history.
func (c *Client) Release(ctx context.Context, p LeaseParams, delay *time.Duration, text *string) ([]Result, error) {
	if text != nil {
		clean := todo.CleanError(*text)
		text = &clean
	}
	return c.lease(ctx, "release", p, ended{state: todo.Pending, outcome: "released"}, pgx.StrictNamedArgs{
		"delay": delay, "error": text})
}
