package queue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Sweep counts what an operator's verb did to the todos that a filter matched.
type Sweep struct {
	Op         *string `json:"op"` // in the journal; null where nothing was changed
	Verb       string  `json:"verb"`
	Matched    int     `json:"matched"`
	Changed    int     `json:"changed"`
	Superseded int     `json:"superseded"` // a live todo has the key
	Skipped    int     `json:"skipped"`    // no longer in the condition that the verb needs
	Errors     int     `json:"errors"`
}

// apply runs a verb on some todos in a transaction, leaves a row of each in the journal under op, and stores what it changed.
type apply func(x *tx, op string, ids []string, changed map[string]todo.Todo) error

// byID runs an operator's verb on named todos, each part in one transaction, and classifies what it refused.
func (c *Client) byID(ctx context.Context, o *op, ids []string, a apply, p *pace) ([]Result, error) {
	var receipts []todo.Receipt
	for _, id := range ids {
		receipts = append(receipts, todo.Receipt{ID: id})
	}
	receipts = distinct(receipts)
	changed := map[string]todo.Todo{}
	for part := range slices.Chunk(receipts, p.size(whole)) {
		names, _ := split(part)
		some, err := c.applied(ctx, o, names, a)
		if err != nil {
			if len(changed) > 0 {
				err = fmt.Errorf("%w; %d todos were changed before", err, len(changed))
			}
			return nil, err
		}
		for id, t := range some {
			changed[id] = t
		}
		if err := p.moved(ctx, len(some)); err != nil {
			return nil, err
		}
	}
	if len(changed) > 0 {
		c.dropImages(ctx, 1)
	}
	var missed []todo.Receipt
	for _, r := range receipts {
		if _, ok := changed[r.ID]; !ok {
			missed = append(missed, r)
		}
	}
	seen, err := c.classify(ctx, missed)
	if err != nil {
		return nil, err
	}
	list := make([]Result, len(receipts))
	for i, r := range receipts {
		if t, ok := changed[r.ID]; ok {
			list[i] = result(&t)
			list[i].Op = &o.id
		} else if s, ok := seen[r.ID]; ok {
			list[i] = result(&s.todo)
			list[i].refuse(s.refused(o.verb, ""))
		} else {
			list[i] = Result{ID: r.ID, Error: notFound(r.ID)}
		}
	}
	return list, nil
}

// applied runs one part in a transaction of its own, with its share of the journal, and returns the todos as they were left.
func (c *Client) applied(ctx context.Context, o *op, ids []string, a apply) (map[string]todo.Todo, error) {
	var changed map[string]todo.Todo
	err := c.transaction(ctx, byID(), func(x *tx) error {
		changed = map[string]todo.Todo{}
		if err := a(x, o.id, ids, changed); err != nil {
			return err
		}
		if len(changed) > 0 {
			if err := x.do(c.entry(o, new(len(ids)), new(len(changed)), queuesOf(changed)...)); err != nil {
				return err
			}
		}
		return x.do(notify(ids, ids))
	})
	return changed, err
}

// byFilter runs an operator's verb on what a filter matches: up to a thousand in one transaction, beyond that or at a pace in
// guarded parts, each after the last id of the one before. progress is told after each.
func (c *Client) byFilter(ctx context.Context, o *op, f Filter, a apply, p *pace, progress func(Sweep)) (Sweep, error) {
	w := &sweeping{Sweep: Sweep{Verb: o.verb}}
	var ids []string
	flush := func() error {
		before := w.Changed
		if err := c.sweep(ctx, o, ids, a, w); err != nil {
			return err
		}
		ids = ids[:0]
		if progress != nil {
			progress(w.Sweep)
		}
		return p.moved(ctx, w.Changed-before)
	}
	for t, err := range c.List(ctx, f, Page{}, &Scanned{}) {
		if err != nil {
			return w.Sweep, err
		}
		w.Matched++
		if ids = append(ids, t.ID); len(ids) == p.size(whole) {
			if err := flush(); err != nil {
				return w.Sweep, err
			}
		}
	}
	var err error
	if len(ids) > 0 {
		err = flush()
	}
	if w.Changed > 0 {
		c.dropImages(ctx, 1)
	}
	return w.Sweep, err
}

// keep stores the rows of an operator's statement by id.
func keep(changed map[string]todo.Todo) func(pgx.CollectableRow) error {
	var s scanner
	return func(row pgx.CollectableRow) error {
		err := s.scan(row)
		changed[s.todo.ID] = s.todo
		return err
	}
}

// Count counts what a filter matches, and changes nothing.
func (c *Client) Count(ctx context.Context, f Filter, scanned *Scanned) (int, error) {
	n := 0
	for _, err := range c.List(ctx, f, Page{}, scanned) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// forced is the op of an operator who ends the leases of others; what the verb was given goes into the journal.
func forced(verb string, more pgx.StrictNamedArgs) (*op, error) {
	options := map[string]any{"force": true}
	for _, name := range []string{"dead", "retry_in", "delay"} {
		switch v := more[name].(type) {
		case bool:
			if v {
				options[name] = v
			}
		case *time.Duration:
			if v != nil {
				options[name] = v.String()
			}
		}
	}
	var reason *string
	switch v := more["error"].(type) {
	case string:
		if v != "" {
			reason = &v
		}
	case *string:
		reason = v
	}
	return newOp(verb, nil, options, reason)
}
