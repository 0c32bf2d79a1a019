package queue

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// BumpParams says how far pending todos move forward.
type BumpParams struct {
	By    time.Duration // earlier by so much
	Front bool          // instead: before everything in their queue
}

// Bump moves named pending todos forward.
func (c *Client) Bump(ctx context.Context, ids []string, p BumpParams) ([]Result, error) {
	return c.byID(ctx, "bump", ids, p.apply)
}

// BumpAll moves what a filter matches forward.
func (c *Client) BumpAll(ctx context.Context, f Filter, p BumpParams, progress func(Sweep)) (Sweep, error) {
	return c.byFilter(ctx, "bump", f, p.apply, progress)
}

func (p BumpParams) apply(x *tx, ids []string, changed map[string]todo.Todo) error {
	return x.do(step{name: "bump", args: pgx.StrictNamedArgs{"ids": ids, "by": p.By, "front": p.Front}, row: keep(changed)})
}
