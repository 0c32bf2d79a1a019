//go:build unix

package worker

import (
	"context"
	"errors"
	"time"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// outcome is what a command came to for one todo.
type outcome struct {
	held      *held
	action    Action
	result    *string
	text      string // of the failure
	retryIn   *time.Duration
	undelayed bool // released because the worker ends: it may be claimed at once
	started   time.Time
}

// report hands an outcome to the settler.
func (w *Worker) report(o outcome) {
	w.unsaid.Add(1)
	w.finished <- o
}

// settle writes outcomes: those that wait are written together.
func (w *Worker) settle(ctx context.Context) {
	for first := range w.finished {
		batch := []outcome{first}
	more:
		for len(batch) < maxClaim {
			select {
			case o, ok := <-w.finished:
				if !ok {
					break more
				}
				batch = append(batch, o)
			default:
				break more
			}
		}
		w.write(ctx, batch)
		w.nudge()
	}
}

// write settles a batch: the completed in one statement, the others one by one.
func (w *Worker) write(ctx context.Context, batch []outcome) {
	var done []outcome
	for _, o := range batch {
		if o.action == Done {
			done = append(done, o)
			continue
		}
		w.until(ctx, []outcome{o}, func(ctx context.Context, q *queue.Client) ([]queue.Result, error) { return w.writeOne(ctx, q, o) })
	}
	if len(done) == 0 {
		return
	}
	list := make([]queue.Completion, len(done))
	for i, o := range done {
		list[i] = queue.Completion{Receipt: o.held.receipt, Result: o.result}
	}
	w.until(ctx, done, func(ctx context.Context, q *queue.Client) ([]queue.Result, error) { return q.CompleteEach(ctx, list) })
}

func (w *Worker) writeOne(ctx context.Context, q *queue.Client, o outcome) ([]queue.Result, error) {
	p := queue.LeaseParams{Receipts: []todo.Receipt{o.held.receipt}}
	if o.action == Release || o.action == Stop {
		var delay *time.Duration
		if !o.undelayed {
			delay = &w.opt.ReleaseDelay
			if o.retryIn != nil {
				delay = o.retryIn
			}
		}
		return q.Release(ctx, p, delay, &o.text)
	}
	return q.Fail(ctx, p, queue.FailParams{Error: o.text, Result: o.result, RetryIn: o.retryIn, Dead: o.action == Dead, Crash: o.action == Crash})
}

// until writes outcomes until the database has answered, or all of the leases are lost.
func (w *Worker) until(ctx context.Context, list []outcome, write func(context.Context, *queue.Client) ([]queue.Result, error)) {
	told := false
	for pause := awayFirst; ; pause = min(2*pause, awayLast) {
		if allLost(list) {
			for _, o := range list {
				why, _ := o.held.isLost()
				w.ended(o, "lost", why)
			}
			return
		}
		var results []queue.Result
		err := w.store.do(func(q *queue.Client) error {
			var err error
			ctx, cancel := context.WithTimeout(ctx, answer)
			defer cancel()
			results, err = write(ctx, q)
			return err
		})
		if err == nil {
			w.account(list, results)
			return
		}
		if !told {
			w.opt.Warn("an outcome cannot be written yet: " + err.Error())
			told = true
		}
		select {
		case <-w.giveUp:
			for _, o := range list {
				o.held.lose("the database could not be told in time: " + err.Error())
			}
		case <-time.After(pause):
		}
	}
}

func allLost(list []outcome) bool {
	for _, o := range list {
		if _, lost := o.held.isLost(); !lost {
			return false
		}
	}
	return true
}

// account says how each lease ended.
func (w *Worker) account(list []outcome, results []queue.Result) {
	for i, o := range list {
		if i < len(results) && results[i].Error != nil {
			if e := results[i].Error; errors.Is(e, todo.ErrConflict) || errors.Is(e, todo.ErrNotFound) {
				w.ended(o, "lost", e.Message)
				continue
			}
		}
		name := map[Action]string{Done: "done", Fail: "failed", Dead: "dead", Release: "released", Stop: "released", Crash: "crashed"}[o.action]
		if o.action != Release && i < len(results) && results[i].Condition == todo.IsDead {
			name = "dead"
		}
		w.ended(o, name, o.text)
	}
}

func (w *Worker) ended(o outcome, name, text string) {
	w.drop(o.held)
	switch name {
	case "done":
		w.sum.Done++
	case "released":
		w.sum.Released++
	case "lost":
		w.sum.Lost++
	default:
		w.sum.Failed++
	}
	t := o.held.todo
	e := Event{ID: t.ID, Queue: t.Queue, Kind: t.Kind, Attempt: t.Attempt, Outcome: name, Seconds: time.Since(o.started).Seconds()}
	if name != "done" {
		e.Error = firstLine(text)
	}
	w.opt.Log(e)
	w.unsaid.Add(-1)
}
