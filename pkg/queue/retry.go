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
	Reason      *string       // for the journal
	Rate        float64       // at most so many todos a second, in small transactions; 0 is no bound
}

// Retry gives named todos, dead or waiting for a retry, a fresh budget of attempts.
func (c *Client) Retry(ctx context.Context, ids []string, p RetryParams) ([]Result, error) {
	o, err := newOp("retry", nil, p.options(), p.Reason)
	if err != nil {
		return nil, err
	}
	return c.byID(ctx, o, ids, p.apply(true, true), newPace(p.Rate))
}

// RetryAll does the same for what a filter matches: the dead, or with Retrying those that wait.
func (c *Client) RetryAll(ctx context.Context, f Filter, p RetryParams, progress func(Sweep)) (Sweep, error) {
	o, err := newOp("retry", f.journal(), p.options(), p.Reason)
	if err != nil {
		return Sweep{Verb: "retry"}, err
	}
	return c.byFilter(ctx, o, f, p.apply(!p.Retrying, p.Retrying), newPace(p.Rate), progress)
}

// options are what the journal notes beside the filter.
func (p RetryParams) options() map[string]any {
	m := map[string]any{}
	if p.MaxAttempts != nil {
		m["max_attempts"] = *p.MaxAttempts
	}
	if p.Delay > 0 {
		m["delay"] = p.Delay.String()
	}
	return m
}

func (p RetryParams) apply(dead, retrying bool) apply {
	return func(x *tx, op string, ids []string, changed map[string]todo.Todo) error {
		reserved := []string{}
		if dead {
			var err error
			if reserved, err = x.reserve(ids); err != nil {
				return err
			}
		}
		return x.do(p.step(op, ids, reserved, dead, retrying, changed))
	}
}

func (p RetryParams) step(op string, ids, reserved []string, dead, retrying bool, changed map[string]todo.Todo) step {
	return step{name: "retry", args: pgx.StrictNamedArgs{"op": op, "ids": ids, "reserved": reserved, "dead": dead, "retrying": retrying,
		"max_attempts": p.MaxAttempts, "delay": p.Delay, "seqs": nil, "stamps": nil}, row: keep(changed)}
}

// reserve takes the keys of the dead ones among some todos until the commit, and returns those whose key it got. Keys come
// first, rows after: the other order deadlocks with heartbeats.
func (x *tx) reserve(ids []string) ([]string, error) {
	reserved := []string{}
	if err := x.do(step{name: "retry_reserve", args: pgx.StrictNamedArgs{"ids": ids}, row: func(row pgx.CollectableRow) error {
		var id string
		err := row.Scan(&id)
		reserved = append(reserved, id)
		return err
	}}); err != nil {
		return nil, err
	}
	return reserved, x.do(step{name: "retry_unreserve", args: pgx.StrictNamedArgs{"reserved": reserved}})
}
