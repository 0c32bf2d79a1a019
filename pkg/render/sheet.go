package render

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// sheetForm prints one object for people: a line a field, then lists as tables, and where the
// command shows them payload and result in full.
type sheetForm struct {
	out     *bufio.Writer
	columns []column
	id      string
	style   style
	payload bool
}

func (f *sheetForm) row(r record) error {
	var lines bytes.Buffer
	label := 0
	for _, c := range f.columns {
		label = max(label, cells(labelOf(c)))
	}
	var later []column
	for _, c := range f.columns {
		value := r.get(c.field)
		if nested(value) || isPayload(c.field) {
			later = append(later, c)
			continue
		}
		lines.WriteString(f.bold(pad(labelOf(c), label)) + gap + f.value(c.field, value, label) + "\n")
	}
	for _, c := range later {
		if !isPayload(c.field) {
			f.nest(&lines, labelOf(c), r.get(c.field))
		}
	}
	for _, name := range []string{"payload", "result"} {
		if value := r.get(name); f.payload && string(value) != "null" || f.asked(name) {
			lines.WriteString("\n" + f.bold(name) + "\n" + gap + string(harmlessJSON(indent(value, gap))) + "\n")
		}
	}
	_, err := f.out.Write(lines.Bytes())
	return err
}

func (f *sheetForm) close() error { return nil }

func (f *sheetForm) asked(name string) bool {
	for _, c := range f.columns {
		if c.field == name {
			return true
		}
	}
	return false
}

// value is a field as a line has room for it: a time with its age beside it.
func (f *sheetForm) value(field string, value json.RawMessage, label int) string {
	s := plain(value)
	if s == "" {
		return "-"
	}
	if at, err := time.Parse(time.RFC3339, s); err == nil && isTime(field) {
		if f.style.now.IsZero() {
			return s
		}
		age := Age(at, f.style.now)
		if !strings.HasPrefix(age, "in ") {
			age += " ago"
		}
		return s + " (" + age + ")"
	}
	s = Clean(s)
	if room := f.style.width - label - len(gap); f.style.width > 0 && !whole(field, f.id) {
		s = cut(s, max(8, room))
	}
	return f.style.paint(field, s)
}

// nest prints a list of objects as a table, and an object as a sheet of its own, moved to the right.
func (f *sheetForm) nest(lines *bytes.Buffer, label string, value json.RawMessage) {
	var inner bytes.Buffer
	out := bufio.NewWriter(&inner)
	st := f.style
	if st.width > 0 {
		st.width = max(20, st.width-len(gap))
	}
	rows := []json.RawMessage{value}
	isList := value[0] == '['
	if isList {
		_ = json.Unmarshal(value, &rows) // it was encoded by us
	}
	var records []record
	for _, row := range rows {
		if r, err := newRecord(row); err == nil {
			records = append(records, r)
		}
	}
	if len(records) == 0 {
		return
	}
	columns := innerColumns(records[0])
	if isList {
		printAll(&tableForm{out: out, columns: columns, style: st}, records)
	} else {
		printAll(&sheetForm{out: out, columns: columns, style: st}, records)
	}
	_ = out.Flush() // into memory
	lines.WriteString("\n" + f.bold(label) + "\n")
	for line := range strings.Lines(inner.String()) {
		lines.WriteString(gap + line)
	}
}

// printAll writes records to a form over memory, which cannot fail.
func printAll(f form, records []record) {
	for _, r := range records {
		_ = f.row(r)
	}
	_ = f.close()
}

// innerColumns are the fields of a nested object that a table can show.
func innerColumns(r record) []column {
	var fields []string
	for i, n := range r.names {
		if !isPayload(n) && !nested(r.values[i]) {
			fields = append(fields, n)
		}
	}
	return parseColumns(fields)
}

// nested says that a value is an object, or a list of objects.
func nested(value json.RawMessage) bool {
	return len(value) > 0 && (value[0] == '{' || len(value) > 1 && value[0] == '[' && value[1] == '{')
}

func (f *sheetForm) bold(s string) string {
	if f.style.color {
		return "\x1b[1m" + s + "\x1b[0m"
	}
	return s
}

func labelOf(c column) string {
	if c.header == strings.ToUpper(c.header) {
		return strings.ToLower(c.header)
	}
	return c.header
}
