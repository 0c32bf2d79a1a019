//go:build unix

package worker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// group is one command that has several todos: it gets them as lines of JSON on stdin and answers
// each with a line. With --batch it gets some and the end of input; with --stream it lives on.
type group struct {
	w     *Worker
	c     *child
	lines chan []byte // to stdin; closed at the end of input

	mu     sync.Mutex
	open   []*task // not answered yet, in the order in which they were sent
	closed bool    // no more lines
	over   bool    // the command has ended
}

// task is a todo that a group's command has.
type task struct {
	held *held
	sent time.Time
}

func (w *Worker) newGroup() (*group, error) {
	g := &group{w: w, lines: make(chan []byte, max(w.opt.Batch, 1))}
	c, err := w.start([]string{"TODO_OWNER=" + w.opt.Claim.Owner}, w.opt.StdoutResult, g.line)
	if err != nil {
		return nil, err
	}
	g.c = c
	w.running.Add(1)
	go func() {
		for line := range g.lines {
			_, _ = c.stdin.Write(line) // what a dead command did not read is settled by its end
		}
		_ = c.stdin.Close()
	}()
	go g.attend()
	return g, nil
}

// add sends a todo. It is false when the command has ended or takes no more.
func (g *group) add(h *held) bool {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(h.todo); err != nil {
		g.w.report(outcome{held: h, action: Fail, text: "the todo cannot be written as JSON: " + err.Error(), started: time.Now()})
		return true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.over || len(g.open) >= max(g.w.opt.Batch, 1) {
		return false
	}
	g.open = append(g.open, &task{h, time.Now()})
	g.w.inflight.Add(1)
	g.lines <- line.Bytes() // as many as may be open fit
	return true
}

func (g *group) size() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.open)
}

func (g *group) unused() bool { return g.size() == 0 }

func (g *group) ended() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.over || g.closed
}

// finish ends the command's input.
func (g *group) finish() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed = true
		close(g.lines)
	}
}

// line takes in an answer.
func (g *group) line(line []byte, tooLong bool) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	p, err := parseReply(line, tooLong)
	if err != nil {
		g.w.opt.Warn(err.Error())
		return
	}
	g.mu.Lock()
	i := slices.IndexFunc(g.open, func(t *task) bool { return p.names(t.held.receipt) })
	if i < 0 {
		g.mu.Unlock()
		g.w.opt.Warn(fmt.Sprintf("an answer names no todo that is open: %.200s", line))
		return
	}
	t := g.open[i]
	o, final, err := p.outcome()
	if err == nil && final {
		g.open = slices.Delete(g.open, i, i+1)
	}
	g.mu.Unlock()
	switch {
	case err != nil:
		g.w.opt.Warn(err.Error())
	case !final:
		g.w.say(t.held, p)
	default:
		o.held, o.started = t.held, t.sent
		g.w.spawn.ran(time.Since(t.sent))
		g.w.inflight.Add(-1)
		g.w.report(o)
		g.w.nudge()
	}
}

// names says whether an answer is about this lease.
func (p reply) names(r todo.Receipt) bool {
	return p.Receipt == r.String() || p.Receipt == "" && p.ID == r.ID
}

// outcome reads what an answer says; it is not final when it only tells of progress or asks for time.
func (p reply) outcome() (o outcome, final bool, err error) {
	action := Done
	switch {
	case p.Outcome != "":
		known := false
		if action, known = actionOf(p.Outcome); !known || action == Stop {
			return o, false, fmt.Errorf("outcome %q is not one of done, fail, dead, release, crash", p.Outcome)
		}
	case p.Error != nil || p.retryIn != nil:
		action = Fail
	case p.Result == nil && (p.Progress != nil || p.extend > 0):
		return o, false, nil
	}
	o = outcome{action: action, retryIn: p.retryIn}
	if p.Result != nil {
		text := string(p.Result)
		o.result = &text
	}
	if p.Error != nil {
		o.text = todo.CleanError(*p.Error)
	} else if action != Done {
		o.text = "the command said " + string(action)
	}
	return o, true, nil
}

// attend sees the command to its end and settles what it left unanswered.
func (g *group) attend() {
	defer g.w.nudge()
	defer g.w.running.Add(-1)
	how := byItself
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	halt := g.w.halt
	for alive := true; alive; {
		select {
		case <-g.c.ended:
			alive = false
		case <-halt:
			halt = nil
			if how == byItself {
				how = byHalt
			}
			g.c.stop(killAfter)
		case <-tick.C:
			if why := g.mustStop(); why != byItself && how == byItself {
				how = why
				g.c.stop(killAfter)
			}
		}
	}
	g.finish()
	g.mu.Lock()
	g.over = true
	rest := g.open
	g.open = nil
	g.mu.Unlock()
	for i, t := range rest {
		o := g.unanswered(how, i == 0)
		o.held, o.started = t.held, t.sent
		g.w.inflight.Add(-1)
		g.w.report(o)
	}
}

// mustStop says whether every todo of the command is lost, or the oldest took too long.
func (g *group) mustStop() ending {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.open) == 0 {
		return byItself
	}
	if limit := g.w.opt.RunTimeout; limit > 0 && time.Since(g.open[0].sent) > limit {
		return byTimeout
	}
	for _, t := range g.open {
		if _, lost := t.held.isLost(); !lost {
			return byItself
		}
	}
	return byLoss
}

// unanswered is the outcome of a todo that the command left when it ended. first is the one that it
// was at: the others are not to blame for a timeout.
func (g *group) unanswered(how ending, first bool) outcome {
	action := g.w.opt.On.of(g.c.exit)
	text := failure(g.c.exit.String()+" without an answer", g.c.errors.String())
	switch {
	case how == byHalt:
		return outcome{action: Release, text: "the worker was told to end", undelayed: true}
	case how == byTimeout && first:
		return outcome{action: Fail, text: fmt.Sprintf("timeout: ran longer than %s", g.w.opt.RunTimeout)}
	case how == byTimeout:
		return outcome{action: Release, text: "the command was stopped for another todo", undelayed: true}
	case action == Done:
		action = Fail
	case action == Stop:
		g.w.refuse(&CannotRun{Code: g.c.exit.code, Reason: text})
		return outcome{action: Release, text: text, undelayed: true}
	}
	return outcome{action: action, text: text}
}
