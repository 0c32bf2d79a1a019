//go:build unix

package worker

import (
	"bytes"
	"fmt"
	"slices"
	"time"
)

// line takes in a line of descriptor 3, which is an answer or a fault.
func (g *group) line(line []byte, tooLong bool) {
	if !tooLong && len(bytes.TrimSpace(line)) == 0 {
		return
	}
	p, err := parseReply(line, tooLong)
	if err == nil && !g.take(p) {
		err = fmt.Errorf("an answer names no todo that is open: %.200q", line)
	}
	if err != nil {
		g.w.opt.Warn(err.Error())
	}
}

// stdout takes in a line of stdout. It is an answer when it reads as one and names a todo that is
// open; any other line is output like that of every command.
func (g *group) stdout(line []byte, tooLong bool) bool {
	if tooLong || !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
		return false
	}
	p, err := parseReply(line, false)
	return err == nil && g.take(p)
}

// take carries out what an answer says. It is false when the answer names no todo that is open.
func (g *group) take(p reply) bool {
	o, final, err := p.outcome()
	g.mu.Lock()
	i := slices.IndexFunc(g.open, func(t *task) bool { return p.names(t.held) })
	if i < 0 {
		g.mu.Unlock()
		return false
	}
	t := g.open[i]
	if final && err == nil {
		g.open = slices.Delete(g.open, i, i+1)
		if i == 0 && len(g.open) > 0 {
			g.open[0].sent = time.Now() // the time that a command may take counts from when it came to the todo
		}
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
		g.w.report(o)
		g.w.inflight.Add(-1)
		g.w.nudge()
	}
	return true
}

// names says whether an answer is about this lease.
func (p reply) names(h *held) bool {
	if p.Receipt == "" {
		return p.ID == h.todo.ID
	}
	return p.Receipt == h.name
}

// outcome reads what an answer says; it is not final when it only tells of progress or asks for time.
func (p reply) outcome() (o outcome, final bool, err error) {
	action := Done
	switch {
	case p.Outcome != "":
		known := false
		if action, known = actionOf(p.Outcome); !known || action == Stop {
			return o, false, fmt.Errorf("outcome %.50q is not one of done, fail, dead, release, crash", p.Outcome)
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
		o.text = *p.Error
	} else if action != Done {
		o.text = "the command said " + string(action)
	}
	return o, true, nil
}

// unanswered is the outcome of a todo that the command left when it ended. first is the one that it
// was at: the others are not to blame for a timeout.
func (g *group) unanswered(how ending, first bool) outcome {
	action := g.w.opt.On.of(g.c.exit)
	text := failure(g.c.exit.String()+" without an answer", g.c.said.String())
	switch {
	case how == byHalt:
		return outcome{action: Release, text: "the worker was told to end", undelayed: true}
	case how == byTimeout && first:
		return outcome{action: Fail, text: failure(fmt.Sprintf("timeout: ran longer than %s", g.w.opt.RunTimeout), g.c.said.String())}
	case how == byTimeout:
		return outcome{action: Release, text: "the command was stopped for another todo", undelayed: true}
	case how == byDeafness:
		return outcome{action: Fail, text: failure("the command closed its stdin and did not answer", g.c.said.String())}
	case action == Done:
		action = Fail
	case action == Stop:
		g.w.refuse(&CannotRun{Code: g.c.exit.code, Reason: text})
		return outcome{action: Release, text: text, undelayed: true}
	}
	return outcome{action: action, text: text}
}
