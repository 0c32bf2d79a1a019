//go:build unix

package worker

import (
	"context"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Shadow is the variable that tells a command that it is only tried: it should not do what cannot be undone.
const Shadow = "TODO_SHADOW=1"

// Trial is what a command came to with a todo on which it was only tried.
type Trial struct {
	ID      string  `json:"id"`
	Queue   string  `json:"queue"`
	Kind    string  `json:"kind"`
	Passed  bool    `json:"passed"`
	Outcome string  `json:"outcome"` // what work would have made of it: done, failed, dead, released, crashed
	Seconds float64 `json:"seconds"`
	Error   *string `json:"error"`
}

// Trier runs a command on todos as a worker does, with Shadow in its environment, and writes nothing
// down: it has no connection. Of the options it takes those of the command. It is safe for concurrent use.
type Trier struct {
	w     *Worker
	untie func() bool
}

// NewTrier returns a trier whose commands are stopped when ctx ends.
func NewTrier(ctx context.Context, opt Options) *Trier {
	w := &Worker{opt: opt, spawn: newSpawner(), wake: make(chan struct{}, 1), halt: make(chan struct{})}
	if len(opt.Guard) > 0 {
		var err error
		if w.guard, err = newGuard(opt.Guard); err != nil {
			opt.Warn("what commands have started will outlive this process if it is killed: " + err.Error())
		}
	}
	return &Trier{w, context.AfterFunc(ctx, func() { close(w.halt) })}
}

// Close ends the trier, after the last Try.
func (r *Trier) Close() {
	r.untie()
	r.w.spawn.stop()
	r.w.guard.close()
}

// Try runs the command for a todo, as if it had just been claimed for the first time. The receipt is that
// of its last lease, which is over, so that nothing can be done with it. The error is a *CannotRun.
func (r *Trier) Try(t todo.Todo) (Trial, error) {
	t.Attempt, t.Owner = 1, &r.w.opt.Claim.Owner
	t.LeaseExpiresAt = todo.At(time.Now().Add(r.w.opt.Claim.TTL))
	p := &run{w: r.w, held: &held{todo: &t, lost: make(chan struct{})}}
	if t.Receipt != nil {
		p.held.receipt, p.held.name = todo.Receipt{ID: t.ID, Seq: t.LeaseSeq}, *t.Receipt
	}
	started := time.Now()
	c, err := r.w.start(append(variables(&t), Shadow), p.line, p.stdout)
	if err != nil {
		return Trial{}, cannotRun(err)
	}
	c.feedAll(t.Payload)
	o := p.outcome(c, p.attend(c))
	if o.action == Stop {
		return Trial{}, &CannotRun{Code: c.exit.code, Reason: failure(c.exit.String(), c.said.String())}
	}
	x := Trial{ID: t.ID, Queue: t.Queue, Kind: t.Kind, Passed: o.action == Done, Outcome: tried(o.action), Seconds: time.Since(started).Seconds()}
	if !x.Passed {
		x.Error = &o.text
	}
	return x, nil
}

// tried is the outcome that follows on an action.
func tried(a Action) string {
	switch a {
	case Done:
		return "done"
	case Dead:
		return "dead"
	case Release:
		return "released"
	case Crash:
		return "crashed"
	}
	return "failed"
}
