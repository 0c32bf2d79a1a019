package queue

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// ApplyParams says how a plan is carried out.
type ApplyParams struct {
	Plan          RetryPlan
	Next          func() (PlannedTodo, error)  // the todos in the order of their ids, then io.EOF
	Canary        int                          // so many are moved first and waited for; 0 is none
	CanaryTimeout time.Duration                // the longest wait for them
	Rate          float64                      // todos a second; 0 is no bound
	Stop          func(failed, ended int) bool // says when it is to stop; nil is never
	DryRun        bool
}

// Applied counts what became of the todos of a plan.
type Applied struct {
	Sweep
	Already int     `json:"already"` // moved by an earlier run of the same plan
	Stopped *string `json:"stopped"` // why it stopped before its end
}

// ApplyRetry moves the todos of a plan in small transactions. Its progress is what the plan's op has in the journal, written in
// the same transactions, so that whoever takes it up again, wherever, goes on where it was. Todos that are not as the plan has
// them are skipped. Several processes that apply one plan at once share the work, and the rate. A plan that was undone, if only
// in part, is a conflict.
func (c *Client) ApplyRetry(ctx context.Context, p ApplyParams, progress func(Sweep)) (Applied, error) {
	a := &applying{ApplyParams: p, c: c, pace: newPace(p.Rate), held: p.Canary > 0 && !p.DryRun, sweeping: sweeping{Sweep: Sweep{Verb: "retry"}}}
	delay, err := time.ParseDuration(p.Plan.Delay)
	if err != nil {
		return Applied{Sweep: a.Sweep}, todo.Errorf(todo.CodeData, "the delay of the plan: %v", err)
	}
	a.params = RetryParams{MaxAttempts: p.Plan.MaxAttempts, Delay: delay}
	if a.op, err = newOp("retry", nil, a.params.options(), p.Plan.Reason); err != nil {
		return Applied{Sweep: a.Sweep}, err
	}
	a.op.id, a.op.filter = p.Plan.Op, new(string(p.Plan.Filter))
	err = a.run(ctx, progress)
	if a.Changed > 0 {
		c.dropImages(ctx, 1)
	}
	return Applied{Sweep: a.Sweep, Already: a.already, Stopped: a.why}, err
}

// applying is a plan that is being carried out.
type applying struct {
	ApplyParams
	sweeping
	already int
	c       *Client
	op      *op
	params  RetryParams
	pace    *pace
	ended   bool // the plan was read to its end
	held    bool // the canaries have not all ended
	looked  time.Time
	total   int     // that the op had moved when this process last looked, and by what it moved then
	why     *string // it stopped before its end
}

// planPart is how many todos of a plan one transaction moves at most.
const planPart = 100

func (a *applying) run(ctx context.Context, progress func(Sweep)) error {
	var part []PlannedTodo
	for {
		if len(part) == 0 {
			var err error
			if part, err = a.read(); err != nil || len(part) == 0 {
				return err
			}
		}
		if why, err := a.stop(ctx); err != nil || why != "" {
			return a.stopped(why, err)
		}
		before := a.Changed
		settled, moved, err := a.move(ctx, part)
		if err != nil {
			return err
		}
		part = part[settled:]
		if progress != nil {
			progress(a.Sweep)
		}
		if a.held && moved >= a.Canary {
			if why, err := a.canaries(ctx); err != nil || why != "" {
				return a.stopped(why, err)
			}
			a.held = false
		}
		if err := a.pace.moved(ctx, a.Changed-before); err != nil {
			return err
		}
	}
}

// stopped notes why the plan stops before its end.
func (a *applying) stopped(why string, err error) error {
	if err == nil {
		a.why = &why
	}
	return err
}

// read returns the next todos of the plan, none at its end.
func (a *applying) read() ([]PlannedTodo, error) {
	var part []PlannedTodo
	for !a.ended && len(part) < a.pace.size(planPart) {
		t, err := a.Next()
		if a.ended = errors.Is(err, io.EOF); a.ended {
			break
		}
		if err != nil {
			return nil, err
		}
		part = append(part, t)
	}
	return part, nil
}

// move settles a part from its beginning: moves what is as the plan has it, as far as canaries allow, and counts the rest.
// It returns how many are settled, and how many the op has moved in all, up to the number of canaries. Where a row is at fault
// the part is halved until the row is alone, counted and left out.
func (a *applying) move(ctx context.Context, part []PlannedTodo) (settled, moved int, err error) {
	settled, moved, err = a.part(ctx, part)
	switch {
	case !rowFault(err):
		return settled, moved, err
	case len(part) > 1:
		return a.move(ctx, part[:len(part)/2])
	}
	a.Matched++
	return 1, 0, a.fault(a.c, part[0].ID, err)
}

// part is move in one transaction.
func (a *applying) part(ctx context.Context, part []PlannedTodo) (settled, moved int, err error) {
	var already, skipped int
	var past planPast
	var wait time.Duration
	var ids, stamps []string
	var seqs []int
	changed := map[string]todo.Todo{}
	choose := func(rows []planRow) {
		already, skipped, settled, ids, seqs, stamps = 0, 0, 0, nil, nil, nil
		for i, r := range rows {
			switch {
			case r.already:
				already++
			case !r.same:
				skipped++
			case a.held && r.moved+len(ids) >= a.Canary:
				return
			default:
				ids, seqs, stamps = append(ids, r.id), append(seqs, part[i].LeaseSeq), append(stamps, part[i].UpdatedAt.String())
			}
			settled++
		}
	}
	if a.DryRun {
		var rows []planRow
		err := a.c.run(ctx, reads, func() []step {
			rows = nil
			return []step{a.past(&past), a.look(part, &rows)}
		})
		if err == nil {
			err = past.undone(a.op.id)
		}
		choose(rows)
		a.Matched, a.already, a.Skipped = a.Matched+settled, a.already+already, a.Skipped+skipped
		return settled, 0, err
	}
	err = a.c.transaction(ctx, byID(), func(x *tx) error {
		clear(changed)
		var rows []planRow
		if err := x.do(step{name: "plan_lock", args: pgx.StrictNamedArgs{"op": a.op.id}}); err != nil {
			return err
		}
		past = planPast{}
		if err := x.do(a.past(&past)); err != nil {
			return err
		}
		if err := past.undone(a.op.id); err != nil {
			return err
		}
		if err := x.do(a.look(part, &rows)); err != nil {
			return err
		}
		choose(rows)
		moved = rows[0].moved
		wait = 0
		if past.total != a.total { // another process, or an earlier one, has moved some since
			wait, a.total = a.pace.others(past.total-a.total, past.since), past.total
		}
		if len(ids) == 0 || wait > 0 {
			return nil
		}
		reserved, err := x.reserve(ids)
		if err != nil {
			return err
		}
		s := a.params.step(a.op.id, ids, reserved, !a.Plan.Retrying, a.Plan.Retrying, changed)
		s.args["seqs"], s.args["stamps"] = seqs, stamps
		if err := x.do(s); err != nil || len(changed) == 0 {
			return err
		}
		if err := x.do(a.c.entry(a.op, new(len(ids)), new(len(changed)), queuesOf(changed)...)); err != nil {
			return err
		}
		return x.do(notify(ids, ids))
	})
	switch {
	case err != nil:
		return 0, 0, err
	case wait > 0:
		return 0, moved, sleep(ctx, wait)
	case len(changed) > 0:
		a.total = past.total + len(changed)
	}
	a.faults, a.Matched, a.already, a.Skipped = 0, a.Matched+settled, a.already+already, a.Skipped+skipped
	if a.Changed += len(changed); a.Changed+a.already > 0 {
		a.Op = &a.op.id
	}
	return settled, moved + len(changed), a.c.refused(ctx, ids, changed, &a.Sweep)
}

// planRow is what a todo of a plan looks like now.
type planRow struct {
	id            string
	already, same bool
	moved         int // by the op, in all
}

func (a *applying) look(part []PlannedTodo, rows *[]planRow) step {
	ids, seqs, stamps := make([]string, len(part)), make([]int, len(part)), make([]string, len(part))
	for i, t := range part {
		ids[i], seqs[i], stamps[i] = t.ID, t.LeaseSeq, t.UpdatedAt.String()
	}
	return step{name: "plan_part", args: pgx.StrictNamedArgs{"op": a.op.id, "ids": ids, "seqs": seqs, "stamps": stamps, "limit": a.Canary},
		row: func(row pgx.CollectableRow) error {
			var r planRow
			err := row.Scan(&r.id, &r.already, &r.same, &r.moved)
			*rows = append(*rows, r)
			return err
		}}
}
