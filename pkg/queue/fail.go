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
	Crash   bool           // the worker died of it: history says expired, as of a lease that nobody ended
}

// Fail ends leases as failed: the todos wait out a backoff, or are dead letters at their attempt cap.
// Repeating it with the same receipt succeeds, and the Result says that it had been done already.
func (c *Client) Fail(ctx context.Context, p LeaseParams, f FailParams) ([]Result, error) {
	text := todo.CleanError(f.Error)
	outcome := "failed"
	if f.Crash {
		outcome = "expired"
	}
	return c.lease(ctx, "fail", p, ended{state: todo.Failed, outcome: outcome}, pgx.StrictNamedArgs{
		"outcome": outcome,
		"error":   text, "fingerprint": todo.Fingerprint(text), "result": f.Result, "retry_in": f.RetryIn, "dead": f.Dead,
		"base": c.opt.RetryBase, "cap": c.opt.RetryCap})
}
