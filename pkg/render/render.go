// Package render prints answers. A command hands over rows with json tags; the form that the user
// asked for decides what becomes of them: a table for people, or one of the forms for machines,
// which stream in bounded memory and keep every digit. Every write error is reported.
package render

import (
	"bufio"
	"io"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Options is what the user and the terminal ask of an answer.
type Options struct {
	Format string    // one of Formats, or "": a table on a terminal, TSV elsewhere
	Source string    // where Format was said, for messages; "" or "--output" is the command line
	Fields []string  // the fields to print, in this order; nil is the form's own choice
	JQ     string    // jq filter over what -o json, or each line of jsonl, would print
	TTY    bool      // the answer goes to a terminal, so that text must be made harmless
	Width  int       // columns of the terminal; 0 is unknown and counts as 80
	Color  bool      // conditions and headers in color; see UseColor
	Now    time.Time // the server's clock, for ages in tables; zero prints times as they are
}

// Shape is what a command can print. It follows from the command line, never from the data.
type Shape struct {
	Many    bool     // a list, possibly empty; else one object or none
	Fields  []string // every field name, in print order; see FieldsOf
	Table   []string // columns of the table, "name" or "name:HEADER", with ? at the end where it may give way; nil is Fields
	Wide    []string // columns of the wide table; nil is Table
	TSV     []string // columns off a terminal, the id first; nil is ID and Table
	ID      string   // the field that -o id prints; "" is "id"
	Payload bool     // the table of one object ends with payload and result in full
}

// The names of the output forms.
const (
	Table   = "table"
	Wide    = "wide"
	JSON    = "json"
	JSONL   = "jsonl"
	CSV     = "csv"
	TSV     = "tsv"
	ID      = "id"
	Receipt = "receipt"
	EnvForm = "env"
)

// Format is an output form and what it is for.
type Format struct{ Name, Meaning string }

// Formats lists the output forms, for help and completion.
func Formats() []Format {
	return []Format{
		{Table, "columns for people; the default on a terminal"},
		{Wide, "the same with more columns, not fitted to the terminal"},
		{JSON, "one object, or an array where the command line asks for a list"},
		{JSONL, "one object a line"},
		{CSV, "every field, with a header line"},
		{TSV, "tab separated, no header, the id first; the default off a terminal"},
		{ID, "the id alone, one a line"},
		{Receipt, "the receipt alone, one a line; the id where there was no lease yet"},
		{EnvForm, "shell assignments of one todo, for eval"},
	}
}

// form is one way to print rows.
type form interface {
	row(r record) error
	close() error
}

// Writer prints one answer: Row for each object, then Close.
type Writer struct {
	out  *bufio.Writer
	form form
	many bool
	rows int
}

// New returns a writer of the form that o asks for, or the usage error that Check returns.
func New(w io.Writer, s Shape, o Options) (*Writer, error) {
	p, err := newPlan(s, o)
	if err != nil {
		return nil, err
	}
	out := bufio.NewWriterSize(w, 32<<10)
	return &Writer{out: out, form: p.form(out), many: s.Many}, nil
}

// Check returns the usage error that New would return, so that a command can refuse before it asks
// the database.
func Check(s Shape, o Options) error {
	_, err := newPlan(s, o)
	return err
}

// Row prints v, a struct or a map with json tags. A table is only printed by Close.
func (w *Writer) Row(v any) error {
	w.rows++
	if !w.many && w.rows > 1 {
		return todo.Errorf(todo.CodeInternal, "more than one row in an answer of one object")
	}
	r, err := newRecord(v)
	if err != nil {
		return err
	}
	return writeError(w.form.row(r))
}

// Flush hands what was printed so far to the reader, for answers that go on for long.
func (w *Writer) Flush() error { return writeError(w.out.Flush()) }

// Close ends the array, prints the table and flushes. An answer without Close is incomplete, and for
// JSON visibly so.
func (w *Writer) Close() error {
	if err := w.form.close(); err != nil {
		return writeError(err)
	}
	return w.Flush()
}

// writeError says in our words that output was lost; errors of our own pass.
func writeError(err error) error {
	if err == nil {
		return nil
	}
	if _, ours := err.(*todo.Error); ours {
		return err
	}
	e := todo.Errorf(todo.CodeInternal, "write output: %v", err)
	e.Err = err
	return e
}
