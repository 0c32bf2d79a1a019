package render

import (
	"bufio"
	"encoding/csv"
	"strings"
)

// tsvForm prints one line a row without a header. Tab, newline and backslash inside a value are
// written \t, \n, \\ and other control characters \xHH, so that a line is a row and a tab a column,
// and nothing is lost. The forms of a single field are TSV as well.
type tsvForm struct {
	out    *bufio.Writer
	fields []string
	orElse string // printed in place of a null in a form of a single field
	tty    bool
}

func (f *tsvForm) row(r record) error {
	for i, name := range f.fields {
		cell := valueText(r.get(name))
		if cell == "" && f.orElse != "" {
			cell = valueText(r.get(f.orElse))
		}
		if i > 0 {
			cell = "\t" + tsvCell(cell, f.tty)
		} else {
			cell = tsvCell(cell, f.tty)
		}
		if _, err := f.out.WriteString(cell); err != nil {
			return err
		}
	}
	return f.out.WriteByte('\n')
}

func (f *tsvForm) close() error { return nil }

// tsvCell escapes one value. The backslash is escaped too, so that the value can be got back.
func tsvCell(s string, tty bool) string {
	special := func(r rune) bool { return r < 0x20 || r == 0x7F || r == '\\' || tty && hidden(r) }
	if !strings.ContainsFunc(s, special) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\\':
			b.WriteString(`\\`)
		case special(r):
			b.WriteString(escape(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// csvForm prints RFC 4180 with a header. On a terminal text is cleaned, elsewhere it is as stored.
type csvForm struct {
	out    *bufio.Writer
	csv    *csv.Writer
	fields []string
	tty    bool
	begun  bool
}

func newCSV(out *bufio.Writer, fields []string, tty bool) *csvForm {
	return &csvForm{out: out, csv: csv.NewWriter(out), fields: fields, tty: tty}
}

func (f *csvForm) row(r record) error {
	if err := f.header(); err != nil {
		return err
	}
	cells := make([]string, len(f.fields))
	for i, name := range f.fields {
		cells[i] = valueText(r.get(name))
		if f.tty {
			cells[i] = Clean(cells[i])
		}
	}
	if len(cells) == 1 && cells[0] == "" {
		// An empty line is no record to most readers, an empty quoted value is.
		return f.line(`""`)
	}
	return f.csv.Write(cells)
}

func (f *csvForm) header() error {
	if f.begun {
		return nil
	}
	f.begun = true
	return f.csv.Write(f.fields)
}

func (f *csvForm) line(s string) error {
	f.csv.Flush()
	if err := f.csv.Error(); err != nil {
		return err
	}
	_, err := f.out.WriteString(s + "\n")
	return err
}

func (f *csvForm) close() error {
	if err := f.header(); err != nil {
		return err
	}
	f.csv.Flush()
	return f.csv.Error()
}
