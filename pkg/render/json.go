package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf16"

	"github.com/itchyny/gojq"

	"github.com/todoctl/todoctl/pkg/todo"
)

// jsonForm prints objects, or one array with an object a line, as they come.
type jsonForm struct {
	out    *bufio.Writer
	fields []string
	array  bool
	indent bool
	tty    bool
	begun  bool
}

func (f *jsonForm) row(r record) error {
	object, margin := r.object, ""
	if f.fields != nil {
		object = r.only(f.fields)
	}
	if f.array {
		margin = "  "
		open := "[\n"
		if f.begun {
			open = ",\n"
		}
		f.begun = true
		if _, err := f.out.WriteString(open); err != nil {
			return err
		}
	}
	if f.indent {
		object = indent(object, margin)
		if _, err := f.out.WriteString(margin); err != nil {
			return err
		}
	}
	if f.tty {
		object = harmlessJSON(object)
	}
	if _, err := f.out.Write(object); err != nil {
		return err
	}
	if f.array {
		return nil
	}
	return f.out.WriteByte('\n')
}

func (f *jsonForm) close() error {
	switch {
	case !f.array:
		return nil
	case f.begun:
		_, err := f.out.WriteString("\n]\n")
		return err
	}
	_, err := f.out.WriteString("[]\n")
	return err
}

// indent spreads an object over lines; digits stay as they are.
func indent(object []byte, margin string) []byte {
	var b bytes.Buffer
	if json.Indent(&b, object, margin, "  ") != nil {
		return object
	}
	return b.Bytes()
}

// harmlessJSON escapes what encoding/json leaves raw and a terminal might act upon. Such characters
// stand only inside strings, so that the text means the same afterwards.
func harmlessJSON(b []byte) []byte {
	if !bytes.ContainsFunc(b, hidden) {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		switch {
		case !hidden(r) || r == '\n':
			out.WriteRune(r)
		case r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.Bytes()
}

// jqForm runs a filter over each object, or over the whole array, which it has to collect.
type jqForm struct {
	out    *bufio.Writer
	code   *gojq.Code
	fields []string
	array  bool
	tty    bool
	all    []any
}

func (f *jqForm) row(r record) error {
	object := r.object
	if f.fields != nil {
		object = r.only(f.fields)
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(object))
	dec.UseNumber() // keeps the digits, also through the filter
	if err := dec.Decode(&v); err != nil {
		return todo.Errorf(todo.CodeInternal, "--jq: read answer: %v", err)
	}
	if f.array {
		f.all = append(f.all, v)
		return nil
	}
	return f.run(v)
}

func (f *jqForm) close() error {
	if !f.array {
		return nil
	}
	if f.all == nil {
		f.all = []any{}
	}
	return f.run(f.all)
}

func (f *jqForm) run(v any) error {
	results := f.code.Run(v)
	for {
		v, ok := results.Next()
		if !ok {
			return nil
		}
		if err, failed := v.(error); failed {
			var halt *gojq.HaltError
			if errors.As(err, &halt) && halt.Value() == nil {
				return nil
			}
			return todo.Errorf(todo.CodeUsage, "--jq: %v", err).
				WithHint("the filter does not fit this answer; look at it with -o json")
		}
		if err := f.print(v); err != nil {
			return err
		}
	}
}

func (f *jqForm) print(v any) error {
	line, raw := v.(string)
	if !raw {
		b, err := gojq.Marshal(v)
		if err != nil {
			return todo.Errorf(todo.CodeInternal, "--jq: %v", err)
		}
		if f.tty {
			b = harmlessJSON(indent(b, ""))
		}
		line = string(b)
	} else if f.tty {
		line = Clean(line)
	}
	_, err := f.out.WriteString(line + "\n")
	return err
}
