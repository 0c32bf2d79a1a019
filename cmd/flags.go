package cmd

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/todoctl/todoctl/pkg/config"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

type flag = pflag.Flag

func formatNames() []string {
	var names []string
	for _, f := range render.Formats() {
		names = append(names, f.Name+"\t"+f.Meaning)
	}
	return names
}

// listFlag is a flag that may be given often and whose values may be joined by commas. An empty value
// is refused: an unset variable must not mean "no filter".
type listFlag struct {
	values []string
	check  func(string) error
}

func (l *listFlag) String() string { return strings.Join(l.values, ",") }
func (l *listFlag) Type() string   { return "name" }

// Set adds the values of one occurrence.
func (l *listFlag) Set(text string) error {
	for _, s := range strings.Split(text, ",") {
		if strings.TrimSpace(s) == "" {
			return fmt.Errorf("the value is empty")
		}
		if l.check != nil {
			if err := l.check(s); err != nil {
				return withHint(err)
			}
		}
		l.values = append(l.values, s)
	}
	return nil
}

// wordFlag is a list whose values are taken as they are, commas included.
type wordFlag struct{ listFlag }

// Set adds one value.
func (w *wordFlag) Set(text string) error {
	if text == "" {
		return fmt.Errorf("the value is empty")
	}
	w.values = append(w.values, text)
	return nil
}

// textFlag is a text that, when given, is not empty; it knows whether it was given.
type textFlag struct{ value *string }

func (t *textFlag) String() string {
	if t.value == nil {
		return ""
	}
	return *t.value
}
func (t *textFlag) Type() string { return "text" }

// Set takes the value.
func (t *textFlag) Set(text string) error {
	if text == "" {
		return fmt.Errorf("the value is empty")
	}
	t.value = &text
	return nil
}

// durationFlag is a duration in Go's notation with d and w, within bounds.
type durationFlag struct {
	value    *time.Duration
	min, max time.Duration // max 0: a hundred years
}

const century = 100 * 365 * 24 * time.Hour

func (d *durationFlag) String() string {
	if d.value == nil {
		return ""
	}
	return config.FormatDuration(*d.value)
}
func (d *durationFlag) Type() string { return "duration" }

// Set parses the value.
func (d *durationFlag) Set(text string) error {
	v, err := config.ParseDuration(text)
	if err != nil {
		return withHint(err)
	}
	limit := d.max
	if limit == 0 {
		limit = century
	}
	if v < d.min || v > limit {
		return fmt.Errorf("not between %s and %s", config.FormatDuration(d.min), config.FormatDuration(limit))
	}
	d.value = &v
	return nil
}

// or returns the duration, or the given one where the flag was not given.
func (d *durationFlag) or(other time.Duration) time.Duration {
	if d.value == nil {
		return other
	}
	return *d.value
}

// withHint puts what to write instead into the one line that a flag's error has.
func withHint(err error) error {
	if e, ok := err.(*todo.Error); ok && e.Hint != "" {
		return fmt.Errorf("%s; %s", e.Message, e.Hint)
	}
	return err
}

// value reads a flag that may be literal, @FILE, or - for standard input, at most limit bytes.
func (a *App) value(flag, text string, limit int64) (string, error) {
	var in io.Reader
	switch {
	case text == "-":
		a.noteTerminal()
		in = a.Streams.In
	case strings.HasPrefix(text, "@"):
		f, err := os.Open(text[1:])
		if err != nil {
			return "", usagef("%s: %v", flag, err)
		}
		defer f.Close()
		in = f
	default:
		return text, nil
	}
	b, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return "", todo.Errorf(todo.CodeInternal, "%s: %v", flag, err)
	}
	if int64(len(b)) > limit {
		return "", todo.Errorf(todo.CodeData, "%s: more than %d MiB", flag, limit>>20)
	}
	return string(b), nil
}

// noteTerminal tells a person that the command waits for what they type.
func (a *App) noteTerminal() {
	if a.Streams.InTTY {
		a.Note("reading from the terminal; end with Ctrl-D")
	}
}
