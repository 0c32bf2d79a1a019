package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

const (
	watched    = 10_000                 // of the newest that were moved, so many are looked at
	watchEvery = time.Second            // so often, while a plan moves
	canaryPoll = 200 * time.Millisecond // and so often while it waits
)

// outcomes is what became of todos that an op moved.
type outcomes struct{ moved, done, failed int }

func (a *applying) outcomes(ctx context.Context, newest bool, n int) (outcomes, error) {
	var o outcomes
	err := a.c.run(ctx, reads, func() []step {
		return []step{{name: "retry_outcomes", args: pgx.StrictNamedArgs{"op": a.op.id, "newest": newest, "n": n},
			row: func(row pgx.CollectableRow) error { return row.Scan(&o.moved, &o.done, &o.failed) }}}
	})
	return o, err
}

// stop says why the plan is to stop, "" where it is not: of the newest that it moved, too many of those that ended have failed.
func (a *applying) stop(ctx context.Context) (string, error) {
	if a.Stop == nil || a.held || a.DryRun || time.Since(a.looked) < watchEvery {
		return "", nil
	}
	a.looked = time.Now()
	o, err := a.outcomes(ctx, true, watched)
	if err != nil || !a.Stop(o.failed, o.done+o.failed) {
		return "", err
	}
	return fmt.Sprintf("%d of %d that ended have failed", o.failed, o.done+o.failed), nil
}

// canaries waits until the first that were moved have ended: are done, or have failed once. It says why the plan is to stop, ""
// where it is to go on.
func (a *applying) canaries(ctx context.Context) (string, error) {
	for end := time.Now().Add(a.CanaryTimeout); ; {
		o, err := a.outcomes(ctx, false, a.Canary)
		switch {
		case err != nil:
			return "", err
		case a.Stop != nil && a.Stop(o.failed, o.moved):
			return fmt.Sprintf("%d of %d canaries have failed", o.failed, o.moved), nil
		case o.done+o.failed >= o.moved:
			return "", nil
		case !time.Now().Before(end):
			return fmt.Sprintf("%d of %d canaries have not ended after %s", o.moved-o.done-o.failed, o.moved, a.CanaryTimeout), nil
		}
		if err := sleep(ctx, min(canaryPoll, time.Until(end))); err != nil {
			return "", err
		}
	}
}

// planPast is what a plan's op has done so far, in all processes.
type planPast struct {
	total    int           // todos moved
	since    time.Duration // the last of them
	undoneBy *string       // op
}

func (a *applying) past(p *planPast) step {
	return step{name: "plan_past", args: pgx.StrictNamedArgs{"op": a.op.id},
		row: func(row pgx.CollectableRow) error { return row.Scan(&p.total, &p.since, &p.undoneBy) }}
}

// undone returns the conflict of a plan that was undone: nothing of it is to be moved any more, nor to be moved twice.
func (p planPast) undone(op string) error {
	if p.undoneBy == nil {
		return nil
	}
	return todo.Errorf(todo.CodeConflict, "the plan's %s was undone by %s", op, *p.undoneBy).With("op", op).
		WithHint("make a new plan: todoctl retry --plan FILE")
}
