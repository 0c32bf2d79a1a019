package render

import (
	"bufio"
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
}

func (f *tableForm) row(r record) error {
	row := make([]string, len(f.columns))
	for i, c := range f.columns {
		row[i] = f.style.cell(c.field, r.get(c.field))
	}
	f.rows = append(f.rows, row)
	return nil
}

// fixed says that a column must not be cut: half an id, an age or a number tells something wrong.
func (f *tableForm) fixed(i int) bool {
	if field := f.columns[i].field; whole(field, f.id) || isTime(field) {
		return true
	}
	for _, row := range f.rows {
		if strings.Trim(row[i], "0123456789.-") != "" {
			return false
		}
	}
	return true
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
		header[i] = f.style.bold(pad(cut(c.header, widths[i]), widths[i]))
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
		if f.fixed(i) {
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

// stacked prints a block of lines for each row, where a terminal is too narrow for columns: the id,
// or what stands first in its place, then a line for each value.
func (f *tableForm) stacked() error {
	head, label := 0, 0
	for i, c := range f.columns {
		label = max(label, cells(c.label))
		if c.field == f.id {
			head = i
		}
	}
	room := max(8, f.style.width-label-2*len(gap))
	for _, row := range f.rows {
		block := row[head] + "\n"
		for i, c := range f.columns {
			if i == head || row[i] == "" {
				continue
			}
			line := row[i]
			if !f.fixed(i) {
				line = cut(line, room)
			}
			block += gap + pad(c.label, label) + gap + f.style.paint(c.field, line) + "\n"
		}
		if _, err := f.out.WriteString(block); err != nil {
			return err
		}
	}
	return nil
}
