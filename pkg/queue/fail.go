package queue

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// FailParams says how leases failed.
type FailParams struct {
	Error   string         // text of the failure; made storable, so that a failure is always recorded
	Result  *string        // JSON, or nil
	RetryIn *time.Duration // backoff instead of the computed one
	Dead    bool           // straight to dead, whatever attempts are left
}

// Fail ends leases as failed: the todos wait out a backoff, or are dead letters at their attempt cap.
// Repeating it with the same receipt succeeds, and the Result says that it had been done already.
func (c *Client) Fail(ctx context.Context, p LeaseParams, f FailParams) ([]Result, error) {
	text := todo.CleanError(f.Error)
	return c.lease(ctx, "fail", p, ended{state: todo.Failed, outcome: "failed"}, pgx.StrictNamedArgs{
		"error": text, "fingerprint": todo.Fingerprint(text), "result": f.Result, "retry_in": f.RetryIn, "dead": f.Dead,
		"base": c.opt.RetryBase, "cap": c.opt.RetryCap})
}
