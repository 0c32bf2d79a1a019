//go:build unix

package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/todoctl/todoctl/pkg/config"
	"github.com/todoctl/todoctl/pkg/intake"
	"github.com/todoctl/todoctl/pkg/queue"
)

// reply is one line that a command says of its todo. ID, Receipt and Outcome are for commands that
// have several.
type reply struct {
	ID       string          `json:"id"`
	Receipt  string          `json:"receipt"`
	Outcome  string          `json:"outcome"`
	Result   json.RawMessage `json:"result"`
	Progress *int            `json:"progress"`
	RetryIn  *string         `json:"retry_in"`
	Extend   *string         `json:"extend"`
	Error    *string         `json:"error"`

	retryIn *time.Duration
	extend  time.Duration
}

// parseReply reads a line. Unknown members are refused: a misspelt one would be a silent loss.
func parseReply(line []byte, tooLong bool) (r reply, err error) {
	if tooLong {
		return r, fmt.Errorf("an answer is longer than %d MiB", maxLine>>20)
	}
	if name, ok := bare(line); ok {
		r.Receipt = name
		return r, nil
	}
	if err := intake.CheckJSON(line); err != nil {
		return r, fmt.Errorf("an answer cannot be read (%w): %.200q", err, line)
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil || bytes.TrimSpace(line)[0] != '{' {
		return r, fmt.Errorf("an answer cannot be read (%s): %.200q", plainly(err), line)
	}
	if r.RetryIn != nil {
		v, err := config.ParseDuration(*r.RetryIn)
		if err != nil || v < 0 {
			return r, fmt.Errorf("retry_in %.50q is not a duration", *r.RetryIn)
		}
		r.retryIn = &v
	}
	if r.Extend != nil {
		v, err := config.ParseDuration(*r.Extend)
		if err != nil || v <= 0 || v > queue.MaxTTL {
			return r, fmt.Errorf("extend %.50q is not a duration of at most 7d", *r.Extend)
		}
		r.extend = v
	}
	if r.Progress != nil && (*r.Progress < 0 || *r.Progress > 100) {
		return r, fmt.Errorf("progress %d is not between 0 and 100", *r.Progress)
	}
	return r, nil
}

// bare reads the answer that a stream gives most of the time, a receipt and nothing else, without a decoder: that took
// longer than all else that is done with a line.
func bare(line []byte) (receipt string, ok bool) {
	line, ok = bytes.CutPrefix(line, []byte(`{"receipt":"`))
	if !ok {
		return "", false
	}
	line, ok = bytes.CutSuffix(line, []byte(`"}`))
	plain := func(c rune) bool {
		return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '_' || c == '@'
	}
	if !ok || bytes.IndexFunc(line, func(c rune) bool { return !plain(c) }) >= 0 {
		return "", false
	}
	return string(line), true
}

// plainly words what the decoder says for somebody who does not write Go.
func plainly(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil:
		return "not an object"
	case errors.As(err, &wrong) && wrong.Field == "":
		return "not an object"
	case errors.As(err, &wrong):
		kind := map[string]string{"int": "a whole number", "string": "a string"}[wrong.Type.String()]
		return wrong.Field + " is not " + kind
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// say passes on what a command says of a todo that it is still at: how far it is, how long it needs.
func (w *Worker) say(h *held, p reply) {
	if p.Progress != nil {
		w.progress.set(h, *p.Progress)
	}
	if p.extend > 0 {
		h.want(p.extend)
		w.progress.extend(h)
	}
}
