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
		label = max(label, cells(c.label))
	}
	margin := "\n" + strings.Repeat(" ", label+len(gap))
	for _, c := range f.columns {
		value := r.get(c.field)
		if nested(value) || isPayload(c.field) {
			continue
		}
		text := strings.Join(f.value(c.field, value, label), margin)
		lines.WriteString(f.style.bold(pad(c.label, label)) + gap + text + "\n")
	}
	for _, c := range f.columns {
		if value := r.get(c.field); nested(value) && !isPayload(c.field) {
			f.nest(&lines, c.label, value)
		}
	}
	for _, name := range []string{"payload", "result"} {
		if value := r.get(name); f.payload && string(value) != "null" || f.asked(name) {
			lines.WriteString("\n" + f.style.bold(name) + "\n" + gap + string(harmlessJSON(indent(value, gap))) + "\n")
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

// value is a field as lines that have room beside their label: a time with its age, an error text
// with its own lines, and nothing cut, since this is where people look for the whole.
func (f *sheetForm) value(field string, value json.RawMessage, label int) []string {
	s := plain(value)
	if s == "" {
		return []string{"-"}
	}
	if at, err := time.Parse(time.RFC3339, s); err == nil && isTime(field) {
		if f.style.now.IsZero() {
			return []string{s}
		}
		age := Age(at, f.style.now)
		if !strings.HasPrefix(age, "in ") {
			age += " ago"
		}
		return []string{s + " (" + age + ")"}
	}
	parts := []string{s}
	if field == "error" {
		parts = strings.Split(strings.ReplaceAll(strings.TrimRight(s, "\r\n"), "\t", "    "), "\n")
	}
	var lines []string
	for _, part := range parts {
		part = Clean(part)
		if f.style.width == 0 || whole(field, f.id) {
			lines = append(lines, part)
			continue
		}
		lines = append(lines, wrap(part, max(20, f.style.width-label-len(gap)))...)
	}
	for i := range lines {
		lines[i] = f.style.paint(field, lines[i])
	}
	return lines
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
	lines.WriteString("\n" + f.style.bold(label) + "\n")
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
