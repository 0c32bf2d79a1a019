package intake

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// shown is how many bad lines are named one by one; the rest are counted.
const shown = 20

// usualLine is up to how long a line is read into room that is kept for the next.
const usualLine = 1 << 20

// Options says how lines are read.
type Options struct {
	Defaults    queue.NewTodo // for fields that a line lacks; Payload "" is JSON null
	SkipInvalid bool          // leave bad lines out instead of refusing them all
	Rejects     io.Writer     // receives the bad lines as they came, where not nil
	Expect      int           // this many todos, or nothing is written; negative: any number
	Total       func(lines int)
}

// Reader yields what an input holds, one JSON object a line. After a bad line it yields no more,
// but reads on to name the others too.
type Reader[T any] struct {
	in    *bufio.Reader
	opt   Options
	parse func(raw []byte, line int) (*T, error) // of one line, without its end; nil for a blank one
	line  int                                    // number of the line read last, from 1; blank lines count
	kept  error                                  // the first fault in writing bad lines away
	held  []byte                                 // room for a line; what parse returns holds on to none of it

	Valid   int
	Invalid int
	Bad     []string // the first of the bad lines, with their reasons
}

// NewReader reads the todos of a bulk enqueue from in.
func NewReader(in io.Reader, opt Options) *Reader[queue.NewTodo] {
	p := parser{defaults: opt.Defaults, keep: opt.Rejects != nil, answers: answerFields(), known: Fields(), members: map[string]json.RawMessage{}}
	return &Reader[queue.NewTodo]{in: bufio.NewReaderSize(in, 256<<10), opt: opt, parse: p.parse}
}

// Next returns what the next line holds, and io.EOF after the last. Bad input that may not be skipped is a data
// error at the end, when every line has been looked at.
func (r *Reader[T]) Next() (*T, error) {
	for {
		raw, tooLong, err := r.read()
		if r.kept != nil {
			return nil, r.kept
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, todo.Errorf(todo.CodeInternal, "read line %d: %v", r.line, err)
		}
		end := err != nil
		if end && len(raw) == 0 && !tooLong {
			return nil, r.finish()
		}
		n, err := r.one(raw, tooLong)
		switch {
		case err != nil:
			if r.reject(raw, err.Error()); r.kept != nil {
				return nil, r.kept
			}
		case n != nil:
			r.Valid++
			if r.Invalid == 0 || r.opt.SkipInvalid {
				return n, nil
			}
		}
	}
}

func (r *Reader[T]) one(raw []byte, tooLong bool) (*T, error) {
	if tooLong {
		return nil, fmt.Errorf("longer than %d MiB", MaxLine>>20)
	}
	return r.parse(raw, r.line)
}

// Skip counts a line that the server found bad, and keeps it with the others.
func (r *Reader[T]) Skip(line int, raw, reason string) {
	r.Valid--
	r.Invalid++
	r.name(line, reason)
	r.keep([]byte(raw + "\n"))
}

// Kept returns the fault, if any, that kept bad lines from being written away.
func (r *Reader[T]) Kept() error { return r.kept }

func (r *Reader[T]) name(line int, reason string) {
	if len(r.Bad) < shown {
		r.Bad = append(r.Bad, fmt.Sprintf("line %d: %s", line, reason))
	}
}

func (r *Reader[T]) reject(raw []byte, reason string) {
	r.Invalid++
	r.name(r.line, reason)
	r.keep(append(raw, '\n'))
}

// keep writes a part of a bad line to where bad lines go.
func (r *Reader[T]) keep(part []byte) {
	if r.opt.Rejects == nil || r.kept != nil {
		return
	}
	if _, err := r.opt.Rejects.Write(part); err != nil {
		r.kept = todo.Errorf(todo.CodeInternal, "write the rejected lines: %v", err)
	}
}

// Lines returns the number of lines read so far, blank ones included.
func (r *Reader[T]) Lines() int { return r.line }

func (r *Reader[T]) finish() error {
	switch {
	case r.Invalid > 0 && !r.opt.SkipInvalid:
		e := todo.Errorf(todo.CodeData, "%s; nothing was written", r.Summary()).With("lines", r.Bad).With("invalid", r.Invalid)
		return e.WithHint("mend the lines, or leave them out with --skip-invalid --rejects FILE")
	case r.opt.Expect >= 0 && r.Valid != r.opt.Expect:
		return todo.Errorf(todo.CodeData, "expected %d todos, got %d; nothing was written", r.opt.Expect, r.Valid).
			WithHint("the input may have been cut short")
	}
	return io.EOF
}

// Summary names the first bad lines and counts the rest.
func (r *Reader[T]) Summary() string {
	var b bytes.Buffer
	for i, s := range r.Bad {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(s)
	}
	if more := r.Invalid - len(r.Bad); more > 0 {
		fmt.Fprintf(&b, "; and %d more bad lines", more)
	}
	return b.String()
}

// read returns the next line without its end. A line beyond MaxLine is not held: it goes straight to
// where bad lines go.
func (r *Reader[T]) read() (raw []byte, tooLong bool, err error) {
	r.line++
	raw = r.held[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		if len(raw)+len(part) > MaxLine+2 {
			tooLong = true
			r.keep(raw)
			raw = nil
		}
		if !tooLong {
			raw = append(raw, part...)
		} else {
			r.keep(bytes.TrimRight(part, "\n"))
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && len(raw) == 0 && !tooLong {
			r.line-- // there was no line
		}
		if cap(raw) <= usualLine {
			r.held = raw
		}
		raw = bytes.TrimRight(raw, "\r\n")
		return raw, tooLong || len(raw) > MaxLine, err
	}
}
