package render

import (
	"bufio"
	"encoding/json"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
)

const gap = "  " // between two columns

// tableForm collects rows and prints them in columns that fit the terminal.
type tableForm struct {
	out     *bufio.Writer
	columns []column
	id      string
	style   style
	rows    [][]string
	fixed   []bool // columns that must not be cut: ids, numbers, ages
}

func (f *tableForm) row(r record) error {
	if f.fixed == nil {
		f.fixed = make([]bool, len(f.columns))
		for i, c := range f.columns {
			f.fixed[i] = true
			if !whole(c.field, f.id) {
				f.fixed[i] = isTime(c.field)
			}
		}
	}
	row := make([]string, len(f.columns))
	for i, c := range f.columns {
		row[i] = f.style.cell(c.field, r.get(c.field))
	}
	f.rows = append(f.rows, row)
	return nil
}

func (f *tableForm) close() error {
	if len(f.rows) == 0 {
		return nil
	}
	widths, fits := f.fit()
	if !fits {
		return f.stacked()
	}
	tw := table.NewWriter()
	tw.SetStyle(plainStyle())
	header := make(table.Row, len(f.columns))
	for i, c := range f.columns {
		header[i] = f.bold(pad(cut(c.header, widths[i]), widths[i]))
	}
	tw.AppendHeader(header)
	for _, row := range f.rows {
		cells := make(table.Row, len(row))
		for i, s := range row {
			cells[i] = f.style.paint(f.columns[i].field, pad(cut(s, widths[i]), widths[i]))
		}
		tw.AppendRow(cells)
	}
	_, err := f.out.WriteString(tw.Render() + "\n")
	return err
}

func (f *tableForm) bold(s string) string {
	if f.style.color {
		return "\x1b[1m" + s + "\x1b[0m"
	}
	return s
}

// plainStyle has neither borders nor lines, and leaves colors and upper case to us: go-pretty would
// decide about colors by other variables than we promise.
func plainStyle() table.Style {
	st := table.StyleDefault
	st.Box = table.BoxStyle{MiddleVertical: gap}
	st.Format = table.FormatOptions{}
	st.Options = table.Options{SeparateColumns: true}
	return st
}

// fit returns the width of each column. The widest that may be cut give first, until the table fits;
// when none can give any more, it does not.
func (f *tableForm) fit() ([]int, bool) {
	widths, floors := make([]int, len(f.columns)), make([]int, len(f.columns))
	total := len(gap) * (len(widths) - 1)
	for i, c := range f.columns {
		widths[i] = cells(c.header)
		floors[i] = min(widths[i], 10)
		for _, row := range f.rows {
			widths[i] = max(widths[i], cells(row[i]))
		}
		if f.fixed[i] || f.numeric(i) {
			floors[i] = widths[i]
		}
		total += widths[i]
	}
	for f.style.width > 0 && total > f.style.width {
		widest := -1
		for i, w := range widths {
			if w > floors[i] && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return nil, false
		}
		widths[widest]--
		total--
	}
	return widths, true
}

// numeric says that a column holds numbers alone, which must not be cut.
func (f *tableForm) numeric(i int) bool {
	for _, row := range f.rows {
		if row[i] != "" && !json.Valid([]byte(row[i])) {
			return false
		}
	}
	return true
}

// stacked prints a block of lines for each row, where a terminal is too narrow for columns.
func (f *tableForm) stacked() error {
	label := 0
	for _, c := range f.columns {
		label = max(label, cells(c.header))
	}
	for _, row := range f.rows {
		for i, c := range f.columns {
			line := row[i]
			switch {
			case c.field == f.id:
			case line == "":
				continue
			default:
				room := max(8, f.style.width-label-2*len(gap))
				if !f.fixed[i] {
					line = cut(line, room)
				}
				line = gap + pad(strings.ToLower(c.header), label) + gap + f.style.paint(c.field, line)
			}
			if _, err := f.out.WriteString(line + "\n"); err != nil {
				return err
			}
		}
	}
	return nil
}
