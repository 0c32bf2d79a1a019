package todo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Code names a kind of failure. Scripts read it from JSON errors; the exit status follows from it.
type Code string

// The kinds of failure that a command can end with.
const (
	CodeInternal    Code = "internal"
	CodeUsage       Code = "usage"
	CodeEmpty       Code = "empty"
	CodeConflict    Code = "conflict"
	CodeNotFound    Code = "not-found"
	CodeData        Code = "data"
	CodePartial     Code = "partial"
	CodeUnavailable Code = "unavailable"
	CodeUnknown     Code = "unknown"
	CodeSchema      Code = "schema"
	CodeDenied      Code = "denied"
	CodeTimeout     Code = "timeout"
	CodeInterrupted Code = "interrupted"
)

// Error is a failure that a user can act on: what happened in one line, what to type next in
// another, and what else is known for machines. It never holds a secret.
type Error struct {
	Code    Code
	Message string
	Hint    string
	Details map[string]any // further members of the JSON error object
	Err     error          // cause, for errors.Is and errors.As; not printed
}

// Error returns the message alone.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is says that two errors of one code without a message of its own are the same, so that
// errors.Is(err, ErrConflict) holds for every conflict.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Message == "" && t.Code == e.Code
}

// Targets for errors.Is.
var (
	ErrEmpty       = &Error{Code: CodeEmpty}
	ErrConflict    = &Error{Code: CodeConflict}
	ErrNotFound    = &Error{Code: CodeNotFound}
	ErrUnavailable = &Error{Code: CodeUnavailable}
	ErrUnknown     = &Error{Code: CodeUnknown}
	ErrSchema      = &Error{Code: CodeSchema}
)

// Errorf makes an Error without a hint.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// WithHint returns a copy of e that says what to type next.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// With returns a copy of e with one more member in its JSON object.
func (e *Error) With(key string, value any) *Error {
	c := *e
	c.Details = make(map[string]any, len(e.Details)+1)
	for k, v := range e.Details {
		c.Details[k] = v
	}
	c.Details[key] = value
	return &c
}

// CodeOf returns the code of err: that of the first Error in its chain, else internal.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

// MarshalJSON prints the error as machines read it: code, message, hint, then what else is known.
func (e *Error) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	put := func(sep, key string, value any) error {
		b.WriteString(sep + `"` + key + `":`)
		if err := enc.Encode(value); err != nil {
			return err
		}
		b.Truncate(b.Len() - 1) // the encoder's newline
		return nil
	}
	var hint *string
	if e.Hint != "" {
		hint = &e.Hint
	}
	err := errors.Join(put("{", "code", e.Code), put(",", "message", e.Message), put(",", "hint", hint))
	for _, key := range slices.Sorted(maps.Keys(e.Details)) {
		err = errors.Join(err, put(",", key, e.Details[key]))
	}
	b.WriteByte('}')
	return b.Bytes(), err
}
