package queue

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// BuryParams says why todos become dead letters, and whether leased ones do.
type BuryParams struct {
	Reason *string // goes to error; nil keeps the text of the last failure
	Force  bool    // todos under a running lease too: their holders will meet a conflict
}

// Bury makes dead letters of named todos.
func (c *Client) Bury(ctx context.Context, ids []string, p BuryParams) ([]Result, error) {
	return c.byID(ctx, "bury", ids, p.apply)
}

// BuryAll makes dead letters of what a filter matches.
func (c *Client) BuryAll(ctx context.Context, f Filter, p BuryParams, progress func(Sweep)) (Sweep, error) {
	return c.byFilter(ctx, "bury", f, p.apply, progress)
}

func (p BuryParams) apply(x *tx, ids []string, changed map[string]todo.Todo) error {
	text := "buried"
	if p.Reason != nil {
		text = todo.CleanError(*p.Reason)
		p.Reason = &text
	}
	return x.do(step{name: "bury", args: pgx.StrictNamedArgs{"ids": ids, "force": p.Force, "reason": p.Reason,
		"fingerprint": todo.Fingerprint(text)}, row: keep(changed)})
}

// Purge deletes the dead letters that a filter matches, with their history.
func (c *Client) Purge(ctx context.Context, f Filter, progress func(Sweep)) (Sweep, error) {
	f.Conditions = []todo.Condition{todo.IsDead}
	return c.byFilter(ctx, "purge", f, func(x *tx, ids []string, changed map[string]todo.Todo) error {
		return x.do(step{name: "purge", args: pgx.StrictNamedArgs{"ids": ids}, row: keep(changed)})
	}, progress)
}
