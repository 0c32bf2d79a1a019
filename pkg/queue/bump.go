package queue

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// BumpParams says how far pending todos move forward.
type BumpParams struct {
	By     time.Duration // earlier by so much
	Front  bool          // instead: before everything in their queue
	Reason *string       // for the journal
}

// Bump moves named pending todos forward.
func (c *Client) Bump(ctx context.Context, ids []string, p BumpParams) ([]Result, error) {
	o, err := newOp("bump", nil, p.options(), p.Reason)
	if err != nil {
		return nil, err
	}
	return c.byID(ctx, o, ids, p.apply, nil)
}

// BumpAll moves what a filter matches forward.
func (c *Client) BumpAll(ctx context.Context, f Filter, p BumpParams, progress func(Sweep)) (Sweep, error) {
	o, err := newOp("bump", f.journal(), p.options(), p.Reason)
	if err != nil {
		return Sweep{Verb: "bump"}, err
	}
	return c.byFilter(ctx, o, f, p.apply, nil, progress)
}

func (p BumpParams) options() map[string]any {
	if p.Front {
		return map[string]any{"front": true}
	}
	return map[string]any{"by": p.By.String()}
}

func (p BumpParams) apply(x *tx, op string, ids []string, changed map[string]todo.Todo) error {
	return x.do(step{name: "bump", args: pgx.StrictNamedArgs{"op": op, "ids": ids, "by": p.By, "front": p.Front}, row: keep(changed)})
}
