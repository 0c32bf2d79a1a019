//go:build unix

package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/todoctl/todoctl/pkg/intake"
	"github.com/todoctl/todoctl/pkg/todo"
)

// run is one command for one todo, and what it has said.
type run struct {
	w    *Worker
	held *held

	mu      sync.Mutex
	result  *string
	text    string
	retryIn *time.Duration
	last    []byte // the last line of stdout
	cut     bool   // that line was longer than a result may be
	fault   string // what could not be understood
}

// runOne runs the command for a todo and reports the outcome.
func (w *Worker) runOne(h *held) {
	started := time.Now()
	r := &run{w: w, held: h}
	own := variables(h.todo)
	c, err := w.start(own, r.line, r.stdout)
	if err != nil {
		o := outcome{held: h, action: Release, text: "the command cannot be started: " + err.Error(), started: started, undelayed: true}
		if errors.Is(err, syscall.E2BIG) && size(own) > 1<<17 {
			o.action = Fail // this todo's fault, and another worker would fare no better
		} else {
			w.refuse(cannotRun(err))
		}
		w.report(o)
		return
	}
	c.feedAll(h.todo.Payload)
	how := r.attend(c)
	w.spawn.ran(time.Since(started))
	o := r.outcome(c, how)
	o.held, o.started = h, started
	if o.action == Stop {
		w.refuse(&CannotRun{Code: c.exit.code, Reason: failure(c.exit.String(), c.said.String())})
		o.undelayed = true
	}
	w.report(o)
}

// refuse notes that the command cannot run at all; the dispatcher ends the worker.
func (w *Worker) refuse(e *CannotRun) {
	w.broken.CompareAndSwap(nil, e)
	w.nudge()
}

// line takes in one line of descriptor 3.
func (r *run) line(line []byte, tooLong bool) {
	if !tooLong && len(bytes.TrimSpace(line)) == 0 {
		return
	}
	p, err := parseReply(line, tooLong)
	if err == nil && (p.Outcome != "" || p.ID != "" && p.ID != r.held.todo.ID || p.Receipt != "" && p.Receipt != r.held.name) {
		err = fmt.Errorf("an answer speaks of an outcome or of another todo, as with --batch or --stream alone: %.200q", line)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		if r.fault == "" {
			r.fault = err.Error() + " (descriptor 3)"
		}
		return
	}
	if p.Result != nil {
		text := string(p.Result)
		r.result = &text
	}
	if p.retryIn != nil {
		r.retryIn = p.retryIn
	}
	if p.Error != nil {
		r.text = *p.Error
	}
	r.w.say(r.held, p)
}

// stdout keeps the last line of stdout where that is the result. All of it goes on to the worker's stderr.
func (r *run) stdout(line []byte, tooLong bool) bool {
	if r.w.opt.StdoutResult && (tooLong || len(bytes.TrimSpace(line)) > 0) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.last, r.cut = append(r.last[:0], line...), tooLong
	}
	return false
}

// ending is why a command was stopped, if it was.
type ending int

const (
	byItself ending = iota
	byTimeout
	byLoss
	byHalt
	byDeafness
)

// attend sees a command to its end, and stops it when its time is over, its lease is lost, or the
// worker ends. A command that asked for more time has it.
func (r *run) attend(c *child) ending {
	how := byItself
	halt, lost := r.w.halt, r.held.lost
	var over <-chan time.Time
	if limit := r.w.opt.RunTimeout; limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		over = timer.C
	}
	for {
		var why ending
		select {
		case <-c.ended:
			return how
		case <-over:
			if more := time.Until(r.held.wanted()); more > 0 {
				over = time.After(more)
				continue
			}
			over, why = nil, byTimeout
		case <-lost:
			lost, why = nil, byLoss
		case <-halt:
			halt, why = nil, byHalt
		}
		select {
		case <-c.ended: // it had just ended by itself
			return how
		default:
		}
		if how == byItself || why == byLoss {
			how = why
		}
		if why == byTimeout {
			c.stop(r.w.opt.Grace)
		} else {
			c.stop(killAfter)
		}
	}
}

// outcome is what the end of the command and its words add up to.
func (r *run) outcome(c *child, how ending) outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := outcome{result: r.result, retryIn: r.retryIn, action: r.w.opt.On.of(c.exit)}
	if o.action == Done && o.result == nil && len(r.last) > 0 && r.fault == "" {
		if r.cut {
			r.fault = fmt.Sprintf("the last line of stdout is longer than %d MiB", maxLine>>20)
		} else {
			text := asJSON(r.last)
			o.result = &text
		}
	}
	switch {
	case how == byHalt && o.action != Done:
		return outcome{action: Release, text: "the worker was told to end", undelayed: true}
	case how == byTimeout:
		o.action = Fail
		o.text = failure(fmt.Sprintf("timeout: ran longer than %s", r.w.opt.RunTimeout), c.said.String())
	case o.action == Done && r.fault != "":
		o.action, o.text = Fail, r.fault
	case o.action != Done && r.text != "":
		o.text = r.text
	case o.action != Done:
		o.text = failure(c.exit.String(), c.said.String())
	}
	return o
}

// variables are what the command learns of its todo from its environment.
func variables(t *todo.Todo) []string {
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

func size(list []string) int {
	n := 0
	for _, s := range list {
		n += len(s)
	}
	return n
}

// asJSON returns text that is JSON as it is, and other text as a JSON string.
func asJSON(line []byte) string {
	if intake.CheckJSON(line) == nil {
		return string(line)
	}
	b, err := json.Marshal(todo.CleanError(string(line)))
	if err != nil {
		return "null"
	}
	return string(b)
}
