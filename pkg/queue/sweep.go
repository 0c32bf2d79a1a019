package queue

import (
	"context"
	"errors"
	"strings"

	"github.com/todoctl/todoctl/pkg/todo"
)

// sweeping is a verb by filter while it runs.
type sweeping struct {
	Sweep
	faults int // of rows, one after the other
}

// faultsBorne is how many rows in a row may be at fault before it is taken to be something else.
const faultsBorne = 100

// sweep applies a verb to one part. A row that makes the statement fail, by a trigger or a constraint of the user's, does not
// stop the others: the part is halved until the row is alone, counted and left out.
func (c *Client) sweep(ctx context.Context, o *op, ids []string, a apply, w *sweeping) error {
	changed, err := c.applied(ctx, o, ids, a)
	switch {
	case err == nil:
		w.faults = 0
	case !rowFault(err):
		return err
	case len(ids) > 1:
		if err := c.sweep(ctx, o, ids[:len(ids)/2], a, w); err != nil {
			return err
		}
		return c.sweep(ctx, o, ids[len(ids)/2:], a, w)
	default:
		return w.fault(c, ids[0], err)
	}
	if w.Changed += len(changed); w.Changed > 0 {
		w.Op = &o.id
	}
	return c.refused(ctx, ids, changed, &w.Sweep)
}

// fault counts a row that is left out, or returns the error where too many are.
func (w *sweeping) fault(c *Client, id string, err error) error {
	w.Errors++
	if w.faults++; w.faults == faultsBorne {
		return err
	}
	if c.opt.Told != nil {
		c.opt.Told(id, err)
	}
	return nil
}

// refused counts what was not changed: superseded where a live todo has the key of a dead one, else skipped.
func (c *Client) refused(ctx context.Context, ids []string, changed map[string]todo.Todo, s *Sweep) error {
	var missed []todo.Receipt
	for _, id := range ids {
		if _, ok := changed[id]; !ok {
			missed = append(missed, todo.Receipt{ID: id})
		}
	}
	seen, err := c.classify(ctx, missed)
	for _, r := range missed {
		if v, ok := seen[r.ID]; ok && v.liveID != nil && v.todo.Condition == todo.IsDead {
			s.Superseded++
		} else {
			s.Skipped++
		}
	}
	return err
}

// rowFault says whether an error of the server comes from the rows of the statement and not from the server, the schema or the
// role: bad data, a constraint, an exception that a trigger raised, a row that somebody keeps locked.
func rowFault(err error) bool {
	var e *todo.Error
	if !errors.As(err, &e) {
		return false
	}
	state, _ := e.Details["sqlstate"].(string)
	if state == "55P03" {
		return true
	}
	for _, class := range []string{"09", "22", "23", "27", "38", "39", "44", "P0", "XX"} {
		if strings.HasPrefix(state, class) {
			return true
		}
	}
	return false
}
