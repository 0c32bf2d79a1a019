package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Undone counts what undo put back.
type Undone struct {
	Sweep
	Undoes  string    `json:"undoes"`  // the op
	Refused []Refusal `json:"refused"` // the first of them; the counts are of all
}

// Refusal says why something was not put back.
type Refusal struct {
	ID      string    `json:"id"` // of a todo, or the name of a queue
	Code    todo.Code `json:"code"`
	Message string    `json:"message"`
}

// refusalsKept is how many refusals an answer carries.
const refusalsKept = 1000

// UndoParams says what is undone, and how.
type UndoParams struct {
	Op     string
	DryRun bool    // find out what would be put back, in transactions that are rolled back
	Reason *string // for the journal
}

// Undo puts back what an operator's verb changed and what has not moved since, page by page, and says why it could not the
// rest. The error is a conflict where the verb cannot be undone at all: it keeps no before-images, or keeps them no more.
func (c *Client) Undo(ctx context.Context, p UndoParams, progress func(Sweep)) (Undone, error) {
	u := Undone{Sweep: Sweep{Verb: "undo"}, Undoes: p.Op}
	e, now, err := c.Entry(ctx, p.Op)
	if err != nil {
		return u, err
	}
	if err := e.Undoable(now); err != nil {
		return u, err
	}
	o, err := newOp("undo", nil, nil, p.Reason)
	if err != nil {
		return u, err
	}
	o.undoes = &p.Op
	for after, full := "", true; full; {
		page, err := c.undoPage(ctx, p.Op, after)
		if err != nil || len(page) == 0 {
			return u, err
		}
		after, full = page[len(page)-1].id, len(page) == pageSize
		if err := c.undoPart(ctx, o, e.Verb, page, p.DryRun, &u); err != nil {
			return u, err
		}
		if progress != nil {
			progress(u.Sweep)
		}
	}
	if !p.DryRun {
		c.dropImages(ctx, 1)
	}
	return u, nil
}

// Undoable returns the conflict of a verb that cannot be undone at the given time of the server.
func (e Entry) Undoable(now time.Time) error {
	refuse := func(why, hint string) error {
		return todo.Errorf(todo.CodeConflict, "cannot undo %s: %s", e.Op, why).With("op", e.Op).WithHint("%s", hint)
	}
	switch e.Verb {
	case "retry", "bury", "bump", "purge", "fail", "release", "pause", "resume":
	case "undo":
		return refuse("it is an undo itself", "give the verb that it undid again")
	default:
		return refuse(e.Verb+" keeps no before-images", "what it did cannot be put back")
	}
	if until, ok := e.KeptUntil.Time(); !ok || until.Before(now) {
		return refuse("its before-images were kept for a while and are gone", "before_images in the configuration says for how long")
	}
	return nil
}

// undoRow is a row that a verb touched.
type undoRow struct {
	id       string
	undoneBy *string
	still    bool // it is as the verb left it
}

func (c *Client) undoPage(ctx context.Context, op, after string) ([]undoRow, error) {
	var page []undoRow
	err := c.run(ctx, reads, func() []step {
		page = nil
		return []step{{name: "undo_list", args: pgx.StrictNamedArgs{"op": op, "after": after, "page": pageSize}, row: func(row pgx.CollectableRow) error {
			var r undoRow
			err := row.Scan(&r.id, &r.undoneBy, &r.still)
			page = append(page, r)
			return err
		}}}
	})
	return page, err
}

// undoPart puts one page back in a transaction of its own and adds to u what came of it.
func (c *Client) undoPart(ctx context.Context, o *op, verb string, page []undoRow, dry bool, u *Undone) error {
	var ids []string
	for _, r := range page {
		// What has moved is left out before keys are reserved: it would take those of others.
		if r.undoneBy == nil && (r.still || verb == "purge" || verb == "pause" || verb == "resume") {
			ids = append(ids, r.id)
		}
	}
	done := map[string]todo.Todo{}
	rolledBack := todo.Errorf(todo.CodeInternal, "a dry run changes nothing")
	err := c.transaction(ctx, byID(), func(x *tx) error {
		clear(done)
		if err := x.do(step{name: "plan_lock", args: pgx.StrictNamedArgs{"op": *o.undoes}}); err != nil {
			return err
		}
		if err := x.undo(o, verb, ids, done); err != nil {
			return err
		}
		if len(done) > 0 {
			if err := x.do(c.entry(o, new(len(page)), new(len(done)), queuesOf(done)...)); err != nil {
				return err
			}
		}
		if dry {
			return rolledBack
		}
		return x.do(notify(ids, ids))
	})
	if err != nil && !(dry && err == error(rolledBack)) {
		return err
	}
	if u.Matched += len(page); !dry && len(done) > 0 {
		u.Changed += len(done)
		u.Op = &o.id
	}
	return c.unmoved(ctx, verb, page, done, u)
}

// undo runs the statement that puts back what a verb did, and stores what it put back.
func (x *tx) undo(o *op, verb string, ids []string, done map[string]todo.Todo) error {
	s := step{name: "undo", args: pgx.StrictNamedArgs{"op": o.id, "undoes": *o.undoes, "ids": ids}, row: keep(done)}
	switch verb {
	case "pause", "resume":
		s.name = "undo_queues"
	case "purge":
		s.name = "undo_purge"
	default:
		reserved, err := x.reserve(ids)
		if err != nil {
			return err
		}
		s.args["reserved"] = reserved
	}
	return x.do(s)
}

// unmoved counts what was not put back, and says why.
func (c *Client) unmoved(ctx context.Context, verb string, page []undoRow, done map[string]todo.Todo, u *Undone) error {
	var missed []todo.Receipt
	for _, r := range page {
		if _, ok := done[r.id]; !ok {
			missed = append(missed, todo.Receipt{ID: r.id})
		}
	}
	seen, err := c.classify(ctx, missed)
	if err != nil {
		return err
	}
	for _, r := range page {
		if _, ok := done[r.id]; ok {
			continue
		}
		why := Refusal{ID: r.id, Code: todo.CodeConflict}
		s, there := seen[r.id]
		u.Skipped++
		switch {
		case r.undoneBy != nil:
			why.Message = "it was put back by " + *r.undoneBy
		case verb == "pause" || verb == "resume":
			why.Message = "the queue was paused or resumed since"
		case verb == "purge" && there:
			why.Message = "a todo of this id is there again"
		case verb == "purge":
			why.Message = "the event that it came from is gone"
		case !there:
			why.Code, why.Message = todo.CodeNotFound, "it is gone"
		case r.still && s.todo.Condition == todo.IsDead && s.liveID != nil:
			why.Message = fmt.Sprintf("superseded: the live todo %s has its key", *s.liveID)
			u.Skipped--
			u.Superseded++
		default:
			why.Message = fmt.Sprintf("it has moved since: it is %s, after %d leases", s.todo.Condition, s.todo.LeaseSeq)
		}
		if len(u.Refused) < refusalsKept {
			u.Refused = append(u.Refused, why)
		}
	}
	return nil
}
