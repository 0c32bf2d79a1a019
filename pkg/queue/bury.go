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
	o, err := newOp("bury", nil, p.options(), p.Reason)
	if err != nil {
		return nil, err
	}
	return c.byID(ctx, o, ids, p.apply, nil)
}

// BuryAll makes dead letters of what a filter matches.
func (c *Client) BuryAll(ctx context.Context, f Filter, p BuryParams, progress func(Sweep)) (Sweep, error) {
	o, err := newOp("bury", f.journal(), p.options(), p.Reason)
	if err != nil {
		return Sweep{Verb: "bury"}, err
	}
	return c.byFilter(ctx, o, f, p.apply, nil, progress)
}

func (p BuryParams) options() map[string]any {
	if !p.Force {
		return nil
	}
	return map[string]any{"force": true}
}

func (p BuryParams) apply(x *tx, op string, ids []string, changed map[string]todo.Todo) error {
	text := "buried"
	if p.Reason != nil {
		text = todo.CleanError(*p.Reason)
		p.Reason = &text
	}
	return x.do(step{name: "bury", args: pgx.StrictNamedArgs{"op": op, "ids": ids, "force": p.Force, "reason": p.Reason,
		"fingerprint": todo.Fingerprint(text)}, row: keep(changed)})
}

// Purge deletes the dead letters that a filter matches, with their history; reason is for the journal.
func (c *Client) Purge(ctx context.Context, f Filter, reason *string, progress func(Sweep)) (Sweep, error) {
	f.Conditions = []todo.Condition{todo.IsDead}
	o, err := newOp("purge", f.journal(), nil, reason)
	if err != nil {
		return Sweep{Verb: "purge"}, err
	}
	return c.byFilter(ctx, o, f, func(x *tx, op string, ids []string, changed map[string]todo.Todo) error {
		return x.do(step{name: "purge", args: pgx.StrictNamedArgs{"op": op, "ids": ids}, row: keep(changed)})
	}, nil, progress)
}
