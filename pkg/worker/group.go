//go:build unix

package worker

import (
	"slices"
	"sync"
	"time"
)

// fullPipe is how much a command gets with one write at most, but for a line that is longer: a pipe holds no more.
const fullPipe = 64 << 10

// group is one command that has several todos: it gets them as lines of JSON on stdin and answers
// each with a line. With --batch it gets some and the end of input; with --stream it lives on.
type group struct {
	w     *Worker
	c     *child
	lines chan *held    // to stdin, as lines; closed at the end of input
	deaf  chan struct{} // closed when the command reads no more

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
	g := &group{w: w, lines: make(chan *held, max(w.opt.Batch, 1)), deaf: make(chan struct{})}
	ready := make(chan struct{})
	c, err := w.start([]string{"TODO_OWNER=" + w.opt.Claim.Owner}, func(line []byte, tooLong bool) { <-ready; g.line(line, tooLong) },
		func(line []byte, tooLong bool) bool { <-ready; return g.stdout(line, tooLong) })
	if err != nil {
		return nil, err
	}
	g.c = c
	close(ready)
	w.running.Add(1)
	go g.feed()
	go g.attend()
	return g, nil
}

// feed writes lines to the command's stdin, those that wait at once. What a dead command did not read is
// settled by its end.
func (g *group) feed() {
	failed := false
	var text []byte
	for h := range g.lines {
		line, err := h.todo.AppendJSON(text)
		if err == nil {
			text = append(line, '\n')
		} else {
			g.unwritable(h, err)
		}
		if len(g.lines) > 0 && len(text) < fullPipe {
			continue
		}
		if !failed && len(text) > 0 {
			if _, err := g.c.stdin.Write(text); err != nil {
				failed = true
				close(g.deaf)
			}
		}
		if cap(text) > 4*fullPipe {
			text = nil
		}
		text = text[:0]
	}
	_ = g.c.stdin.Close()
}

// unwritable ends a todo that cannot be given to a command.
func (g *group) unwritable(h *held, err error) {
	g.mu.Lock()
	before := len(g.open)
	g.open = slices.DeleteFunc(g.open, func(t *task) bool { return t.held == h })
	mine := len(g.open) < before // the command has not ended meanwhile, which settles all that it had
	g.mu.Unlock()
	if mine {
		g.w.report(outcome{held: h, action: Fail, text: "the todo cannot be written as JSON: " + err.Error(), started: time.Now()})
		g.w.inflight.Add(-1)
		g.w.nudge()
	}
}

// add sends a todo. It is false when the command has ended or takes no more.
func (g *group) add(h *held) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.over || len(g.open) >= cap(g.lines) {
		return false
	}
	select {
	case g.lines <- h:
	default: // what was answered unread still stands there
		return false
	}
	g.open = append(g.open, &task{h, time.Now()})
	g.w.inflight.Add(1)
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

// attend sees the command to its end and settles what it left unanswered.
func (g *group) attend() {
	defer g.w.nudge()
	defer g.w.running.Add(-1)
	how := byItself
	tick := time.NewTicker(expiring)
	defer tick.Stop()
	halt, deaf := g.w.halt, g.deaf
	for alive := true; alive; {
		why := byItself
		select {
		case <-g.c.ended:
			alive = false
			continue
		case <-halt:
			halt, why = nil, byHalt
		case <-deaf: // it is about to end, or it never will
			deaf = nil
			g.finish()
			if !g.endsSoon() {
				why = byDeafness
			}
		case <-tick.C:
			why = g.mustStop()
		}
		if why != byItself {
			if how == byItself {
				how = why
			}
			g.c.stop(killAfter)
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
		g.w.report(o)
		g.w.inflight.Add(-1)
	}
}

func (g *group) endsSoon() bool {
	select {
	case <-g.c.ended:
		return true
	case <-g.w.halt:
		return true
	case <-time.After(2 * lingering):
		return g.size() == 0
	}
}

// mustStop says whether every todo of the command is lost, or the oldest took too long.
func (g *group) mustStop() ending {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.open) == 0 {
		return byItself
	}
	oldest := g.open[0]
	if limit := g.w.opt.RunTimeout; limit > 0 && time.Since(oldest.sent) > limit && time.Now().After(oldest.held.wanted()) {
		return byTimeout
	}
	if slices.ContainsFunc(g.open, func(t *task) bool { _, lost := t.held.isLost(); return !lost }) {
		return byItself
	}
	return byLoss
}
