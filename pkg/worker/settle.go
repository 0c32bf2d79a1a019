//go:build unix

package worker

import (
	"context"
	"slices"
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
	lost      string // why the lease was lost while the command still ran: nothing is written then
}

// report hands an outcome to the settler. Once a command has ended it no longer matters what this machine
// believes of the lease: the receipt guards the writing.
func (w *Worker) report(o outcome) {
	w.unsaid.Add(1)
	if why, lost := o.held.isLost(); lost {
		o.lost = why
	}
	w.finished.put(o)
}

// gathering is from one writing of outcomes to the next, at least. Where commands end faster than that, those that end
// meanwhile are written together; the outcome of a command that ended after a pause is written at once.
const gathering = 3 * time.Millisecond

// settle writes outcomes until the box is closed: those that wait are written together.
func (w *Worker) settle(ctx context.Context) {
	for wrote := (time.Time{}); ; wrote = time.Now() {
		if d := gathering - time.Since(wrote); d > 0 {
			w.finished.gather(d, maxClaim)
		}
		batch := w.finished.take(maxClaim)
		if len(batch) == 0 {
			return
		}
		for _, list := range together(batch) {
			w.write(ctx, list)
		}
		w.nudge()
	}
}

// together divides outcomes into those that one statement can write: all that are done, and of the
// others those that failed or were given back alike.
func together(batch []outcome) [][]outcome {
	var groups [][]outcome
	for _, o := range batch {
		at := slices.IndexFunc(groups, func(g []outcome) bool { return alike(g[0], o) })
		if at < 0 {
			groups = append(groups, []outcome{o})
		} else {
			groups[at] = append(groups[at], o)
		}
	}
	return groups
}

func alike(a, b outcome) bool {
	if a.action == Done || b.action == Done {
		return a.action == b.action
	}
	return a.action == b.action && a.text == b.text && a.retryIn == nil && b.retryIn == nil &&
		a.result == nil && b.result == nil && a.undelayed == b.undelayed
}

// write writes outcomes until the database has answered, or until it is waited for no longer.
func (w *Worker) write(ctx context.Context, list []outcome) {
	for pause := awayFirst; ; pause = min(2*pause, awayLast) {
		if list = w.sift(list); len(list) == 0 {
			return
		}
		results, err := w.send(ctx, list)
		switch {
		case err == nil:
			w.outage.over()
			w.account(list, results)
			return
		case temporary(err):
			w.outage.began(err)
			w.waitOut(pause)
		case len(list) > 1:
			for _, o := range list { // one of them is at fault, and it must not hold up the others
				w.write(ctx, []outcome{o})
			}
			return
		default:
			var plain bool
			if list[0], plain = without(list[0], err); plain {
				w.ended(list[0], "lost", "the database refused the outcome: "+err.Error())
				return
			}
		}
	}
}

// sift takes out what must not be written, or cannot be any more.
func (w *Worker) sift(list []outcome) []outcome {
	given := false
	select {
	case <-w.giveUp:
		given = true
	default:
	}
	return slices.DeleteFunc(list, func(o outcome) bool {
		switch {
		case o.lost != "":
			w.ended(o, "lost", o.lost)
		case given:
			w.ended(o, "lost", "the database could not be told in time")
		}
		return given || o.lost != ""
	})
}

// waitOut waits for the next try: for a while, or until somebody else had an answer.
func (w *Worker) waitOut(pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.outage.wait():
	case <-w.giveUp:
	}
}

// send writes outcomes that are alike with one statement.
func (w *Worker) send(ctx context.Context, list []outcome) (results []queue.Result, err error) {
	o := list[0]
	receipts := make([]todo.Receipt, len(list))
	completions := make([]queue.Completion, len(list))
	for i, o := range list {
		receipts[i] = o.held.receipt
		completions[i] = queue.Completion{Receipt: o.held.receipt, Result: o.result}
	}
	p := queue.LeaseParams{Receipts: receipts}
	ctx, cancel := context.WithTimeout(ctx, answer)
	defer cancel()
	err = w.ends.do(func(q *queue.Client) error {
		switch o.action {
		case Done:
			results, err = q.CompleteEach(ctx, completions)
		case Release, Stop:
			results, err = q.Release(ctx, p, w.delay(o), &o.text)
		default:
			results, err = q.Fail(ctx, p, queue.FailParams{Error: o.text, Result: o.result, RetryIn: o.retryIn, Dead: o.action == Dead, Crash: o.action == Crash})
		}
		return err
	})
	return results, err
}

// delay is how long a todo that is given back waits: nil for not at all, at its old place.
func (w *Worker) delay(o outcome) *time.Duration {
	switch {
	case o.undelayed:
		return nil
	case o.retryIn != nil:
		return o.retryIn
	}
	return &w.opt.ReleaseDelay
}

// without is an outcome less what the database does not take: a failure must never fail to be
// recorded. plain says that there is nothing left to leave away.
func without(o outcome, err error) (less outcome, plain bool) {
	switch {
	case o.action == Done && o.result != nil:
		o.action, o.text = Fail, "the result cannot be stored: "+err.Error()
	case o.action == Done || o.result == nil:
		return o, true
	}
	o.result = nil
	return o, false
}

// account says how each lease ended.
func (w *Worker) account(list []outcome, results []queue.Result) {
	for i, o := range list {
		if e := results[i].Error; e != nil {
			w.ended(o, "lost", e.Message)
			continue
		}
		name := o.action.past()
		if (o.action == Fail || o.action == Crash) && results[i].Condition == todo.IsDead {
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
	e := Event{ID: t.ID, Receipt: o.held.name, Queue: t.Queue, Kind: t.Kind, Attempt: t.Attempt, Outcome: name, Seconds: time.Since(o.started).Seconds()}
	if name != "done" {
		line := firstLine(text)
		e.Error = &line
	}
	w.opt.Log(e)
	w.unsaid.Add(-1)
}
