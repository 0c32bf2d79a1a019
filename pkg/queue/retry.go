package queue

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// RetryParams says how dead letters come back.
type RetryParams struct {
	MaxAttempts *int          // a new attempt cap, or the old one
	Delay       time.Duration // before they are due
	Retrying    bool          // by filter: those that wait out a backoff, instead of the dead
}

// Retry gives named todos, dead or waiting for a retry, a fresh budget of attempts.
func (c *Client) Retry(ctx context.Context, ids []string, p RetryParams) ([]Result, error) {
	return c.byID(ctx, "retry", ids, p.apply(true, true))
}

// RetryAll does the same for what a filter matches: the dead, or with Retrying those that wait.
func (c *Client) RetryAll(ctx context.Context, f Filter, p RetryParams, progress func(Sweep)) (Sweep, error) {
	return c.byFilter(ctx, "retry", f, p.apply(!p.Retrying, p.Retrying), progress)
}

func (p RetryParams) apply(dead, retrying bool) func(*tx, []string, map[string]todo.Todo) error {
	return func(x *tx, ids []string, changed map[string]todo.Todo) error {
		reserved := []string{}
		// Keys first, rows after: the other order deadlocks with heartbeats.
		if dead {
			if err := x.do(step{name: "retry_reserve", args: pgx.StrictNamedArgs{"ids": ids}, row: func(row pgx.CollectableRow) error {
				var id string
				err := row.Scan(&id)
				reserved = append(reserved, id)
				return err
			}}); err != nil {
				return err
			}
			if err := x.do(step{name: "retry_unreserve", args: pgx.StrictNamedArgs{"reserved": reserved}}); err != nil {
				return err
			}
		}
		return x.do(step{name: "retry", args: pgx.StrictNamedArgs{"ids": ids, "reserved": reserved, "dead": dead, "retrying": retrying,
			"max_attempts": p.MaxAttempts, "delay": p.Delay}, row: keep(changed)})
	}
}
