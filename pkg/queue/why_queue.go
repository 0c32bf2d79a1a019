package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// idle is for how long a due todo must wait before it is of interest that nobody claims.
const idle = time.Minute

// standing is what a claim would find in a queue.
type standing struct {
	now                          time.Time
	paused                       bool
	pause                        pause
	due, capped, leased          int64
	oldest, next, ends, lastTook todo.Time
	assignee                     *string
	known                        bool
}

// WhyQueue explains a queue for one owner: claimable exactly when a claim from it would get something. limit bounds
// the todos that are looked at.
func (c *Client) WhyQueue(ctx context.Context, queue, owner string, limit int) (Explanation, error) {
	s, err := c.standing(ctx, queue, owner, limit)
	if err != nil {
		return Explanation{}, err
	}
	w := why{owner: owner, now: s.now}
	w.queue(queue, s, limit)
	e := w.explanation(queue)
	if e.Claimable {
		w.unclaimed(queue, s.oldest, s.lastTook)
	}
	e.Reasons = w.reasons
	e.first()
	return e, nil
}

func (c *Client) standing(ctx context.Context, queue, owner string, limit int) (standing, error) {
	var s standing
	err := c.run(ctx, reads, func() []step {
		return []step{{name: "why_queue", args: pgx.StrictNamedArgs{"queue": queue, "owner": owner, "cap": limit}, row: func(row pgx.CollectableRow) error {
			return row.Scan(&s.now, &s.paused, &s.pause.until, &s.pause.by, &s.pause.reason, &s.pause.at, &s.due, &s.capped, &s.oldest, &s.next,
				&s.leased, &s.ends, &s.assignee, &s.known, &s.lastTook)
		}}}
	})
	return s, err
}

// queue gives the reasons of a queue.
func (w *why) queue(queue string, s standing, limit int) {
	if s.paused {
		w.paused(queue, s.pause)
	}
	if s.due > 0 {
		if !s.paused {
			w.add(Reason{Code: WhyClaimable, Text: fmt.Sprintf("%s can be claimed, the oldest since %s", atLeast(s.due, limit), w.since(s.oldest)), Since: s.oldest},
				"todoctl claim -q "+shellWord(queue))
		}
		return
	}
	before := len(w.reasons)
	if s.capped > 0 {
		w.add(Reason{Code: WhyExhausted, Text: atLeast(s.capped, limit) + " have no attempts left; the next claim or reap makes them dead letters", Blocks: true}, "todoctl reap -q "+shellWord(queue))
	}
	if s.assignee != nil {
		w.add(Reason{Code: WhyAssigned, Text: "what is due is assigned to others, as to " + *s.assignee, By: s.assignee, Blocks: true},
			"todoctl claim -q "+shellWord(queue)+" --owner "+shellWord(*s.assignee))
	}
	if !s.next.IsNull() {
		w.add(Reason{Code: WhyDelayed, Text: "the next is due at " + w.until(s.next), Until: s.next, Blocks: true}, "todoctl bump --front -q "+shellWord(queue))
	}
	if s.leased > 0 {
		w.add(Reason{Code: WhyClaimed, Text: fmt.Sprintf("%s are leased, the first until %s", atLeast(s.leased, limit), w.until(s.ends)), Until: s.ends, Blocks: true},
			"todoctl list --state claimed -q "+shellWord(queue))
	}
	switch {
	case len(w.reasons) > before:
	case !s.known:
		w.add(Reason{Code: WhyUnknownQueue, Text: "queue " + queue + " is not known: nothing was ever enqueued there", Blocks: true}, "todoctl queues")
	default:
		w.add(Reason{Code: WhyNone, Text: "queue " + queue + " has nothing to claim", Blocks: true}, "todoctl enqueue -q "+shellWord(queue))
	}
}

// unclaimed says that nobody has claimed from a queue since its oldest todo was due, where that is long ago.
func (w *why) unclaimed(queue string, oldest, last todo.Time) {
	if due, ok := oldest.Time(); !ok || w.now.Sub(due) < idle {
		return
	}
	r := Reason{Code: WhyUnclaimed, Since: last}
	switch at, ok := last.Time(); {
	case !ok:
		r.Text = "nobody is known to have claimed from queue " + queue
	case w.now.Sub(at) < idle:
		return
	default:
		r.Text = fmt.Sprintf("nobody has claimed from queue %s for %s", queue, length(w.now.Sub(at)))
	}
	w.add(r, "todoctl work -q "+shellWord(queue)+" -- COMMAND")
}

// unclaimed adds to the explanation of a claimable todo that nobody claims from its queue.
func (c *Client) unclaimed(ctx context.Context, e *Explanation, due todo.Time) error {
	s, err := c.standing(ctx, e.Queue, e.Owner, 1000)
	w := why{owner: e.Owner, now: s.now, reasons: e.Reasons}
	if err == nil {
		w.unclaimed(e.Queue, due, s.lastTook)
	}
	e.Reasons = w.reasons
	return err
}

// atLeast is a number that was counted up to a limit.
func atLeast(n int64, limit int) string {
	if n >= int64(limit) {
		return fmt.Sprintf("~%d", n)
	}
	return fmt.Sprint(n)
}
