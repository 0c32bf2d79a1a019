//go:build unix

package worker

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// run is one command for one todo, and what it has said on descriptor 3.
type run struct {
	w    *Worker
	held *held

	mu      sync.Mutex
	result  *string
	text    string
	retryIn *time.Duration
	fault   string // a line that could not be understood
}

// runOne runs the command for a todo and reports the outcome.
func (w *Worker) runOne(h *held) {
	started := time.Now()
	r := &run{w: w, held: h}
	c, err := w.start(variables(h.todo), false, r.line)
	if err != nil {
		w.refuse(cannotRun(err))
		w.report(outcome{held: h, action: Release, text: "the command cannot be started", started: started, undelayed: true})
		return
	}
	c.feedAll(h.todo.Payload)
	how := w.attend(c, h.lost, w.opt.RunTimeout)
	w.spawn.ran(time.Since(started))
	o := r.outcome(c, how)
	o.held, o.started = h, started
	if o.action == Stop {
		w.refuse(&CannotRun{Code: c.exit.code, Reason: failure(fmt.Sprintf("exit %d", c.exit.code), c.errors.String())})
		o.undelayed = true
	}
	w.report(o)
}

// refuse notes that the command cannot run at all; the dispatcher ends the worker.
func (w *Worker) refuse(e *CannotRun) {
	w.broken.CompareAndSwap(nil, e)
	w.nudge()
}

// ending is why a command was stopped, if it was.
type ending int

const (
	byItself ending = iota
	byTimeout
	byLoss
	byHalt
)

// attend sees a command to its end, and stops it when its time is over, its lease is lost, or the worker ends.
func (w *Worker) attend(c *child, lost <-chan struct{}, limit time.Duration) ending {
	how := byItself
	halt := w.halt
	var over <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		over = timer.C
	}
	for {
		select {
		case <-c.ended:
			return how
		case <-over:
			over, how = nil, byTimeout
			c.stop(w.opt.Grace)
		case <-lost:
			lost, how = nil, byLoss
			c.stop(killAfter)
		case <-halt:
			halt = nil
			if how == byItself {
				how = byHalt
			}
			c.stop(killAfter)
		}
	}
}

// outcome is what the end of the command and its words add up to.
func (r *run) outcome(c *child, how ending) outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := outcome{result: r.result, retryIn: r.retryIn, action: r.w.opt.On.of(c.exit)}
	switch {
	case how == byHalt && o.action != Done:
		o.action, o.text, o.undelayed = Release, "the worker was told to end", true
		return o
	case how == byTimeout:
		o.action = Fail
		o.text = failure(fmt.Sprintf("timeout: ran longer than %s", r.w.opt.RunTimeout), c.errors.String())
		return o
	case o.action == Done && r.fault != "":
		o.action, o.text = Fail, r.fault
		return o
	case o.action == Done:
		if r.w.opt.StdoutResult && o.result == nil && c.last != "" {
			text := asJSON(c.last)
			o.result = &text
		}
		return o
	}
	o.text = r.text
	if o.text == "" {
		o.text = failure(c.exit.String(), c.errors.String())
	}
	return o
}

// String says how a command ended, as it begins the error text.
func (x exit) String() string {
	if x.signal != 0 {
		return fmt.Sprintf("signal %d (%s)", int(x.signal), x.signal)
	}
	return "exit " + strconv.Itoa(x.code)
}

// variables are what the command learns of its todo from its environment.
func variables(t todo.Todo) []string {
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	deadline := ""
	if at, ok := t.LeaseExpiresAt.Time(); ok {
		deadline = strconv.FormatInt(at.Unix(), 10)
	}
	return []string{"TODO_ID=" + t.ID, "TODO_RECEIPT=" + text(t.Receipt), "TODO_QUEUE=" + t.Queue, "TODO_KIND=" + t.Kind,
		"TODO_TITLE=" + t.Title, "TODO_SOURCE=" + t.Source, "TODO_KEY=" + text(t.IdempotencyKey), "TODO_OWNER=" + text(t.Owner),
		"TODO_ATTEMPT=" + strconv.Itoa(t.Attempt), "TODO_MAX_ATTEMPTS=" + strconv.Itoa(t.MaxAttempts), "TODO_DEADLINE=" + deadline}
}

// asJSON returns text that is JSON as it is, and other text as a JSON string.
func asJSON(text string) string {
	if checkResult([]byte(text)) == nil {
		return text
	}
	b, err := json.Marshal(todo.CleanError(text))
	if err != nil {
		return "null"
	}
	return string(b)
}
