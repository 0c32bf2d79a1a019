//go:build unix

package worker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/todoctl/todoctl/pkg/config"
	"github.com/todoctl/todoctl/pkg/intake"
	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// reply is one line that a command says on descriptor 3. ID and Outcome are for commands that have
// several todos.
type reply struct {
	ID       string          `json:"id"`
	Receipt  string          `json:"receipt"`
	Outcome  string          `json:"outcome"`
	Result   json.RawMessage `json:"result"`
	Progress *int            `json:"progress"`
	RetryIn  string          `json:"retry_in"`
	Extend   string          `json:"extend"`
	Error    *string         `json:"error"`

	retryIn *time.Duration
	extend  time.Duration
}

// parseReply reads a line. Unknown members are refused: a misspelt one would be a silent loss.
func parseReply(line []byte, tooLong bool) (reply, error) {
	var r reply
	if tooLong {
		return r, fmt.Errorf("a line on descriptor 3 is longer than %d MiB", maxLine>>20)
	}
	if err := intake.CheckJSON(line); err != nil {
		return r, fmt.Errorf("a line on descriptor 3 is %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, fmt.Errorf("a line on descriptor 3: %w", err)
	}
	if r.RetryIn != "" {
		v, err := config.ParseDuration(r.RetryIn)
		if err != nil || v < 0 {
			return r, fmt.Errorf("retry_in %q on descriptor 3 is not a duration", r.RetryIn)
		}
		r.retryIn = &v
	}
	if r.Extend != "" {
		v, err := config.ParseDuration(r.Extend)
		if err != nil || v <= 0 || v > queue.MaxTTL {
			return r, fmt.Errorf("extend %q on descriptor 3 is not a duration of at most 7d", r.Extend)
		}
		r.extend = v
	}
	if r.Progress != nil && (*r.Progress < 0 || *r.Progress > 100) {
		return r, fmt.Errorf("progress %d on descriptor 3 is not between 0 and 100", *r.Progress)
	}
	return r, nil
}

func checkResult(raw []byte) error { return intake.CheckJSON(raw) }

// line takes in one line of descriptor 3.
func (r *run) line(line []byte, tooLong bool) {
	if len(bytes.TrimSpace(line)) == 0 {
		return
	}
	p, err := parseReply(line, tooLong)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		if r.fault == "" {
			r.fault = err.Error()
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
		r.text = todo.CleanError(*p.Error)
	}
	r.w.say(r.held, p)
}

// say passes on what a command says of a todo that it is still at: how far it is, how long it needs.
func (w *Worker) say(h *held, p reply) {
	if p.Progress != nil {
		w.progress.set(h, *p.Progress)
	}
	if p.extend > 0 {
		h.mu.Lock()
		h.wants = time.Now().Add(p.extend)
		h.mu.Unlock()
		w.progress.extend(h)
	}
}
