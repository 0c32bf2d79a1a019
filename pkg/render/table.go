package render

import (
	"bufio"
	"slices"
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
	columns, widths := f.fit()
	if columns == nil {
		return f.stacked()
	}
	tw := table.NewWriter()
	tw.SetStyle(plainStyle())
	cells := func(value func(i int) string) table.Row {
		row := make(table.Row, len(columns))
		for n, i := range columns {
			row[n] = f.style.paint(f.columns[i].field, pad(cut(value(i), widths[n]), widths[n]))
		}
		return row
	}
	header := cells(func(i int) string { return f.columns[i].header })
	for n := range header {
		header[n] = f.style.bold(header[n].(string))
	}
	tw.AppendHeader(header)
	for _, row := range f.rows {
		tw.AppendRow(cells(func(i int) string { return row[i] }))
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

// fit returns the columns that are shown and the width of each. Where not all fit, first those give
// way that are empty in every row, then the optional ones from the right; nil when it was no use.
func (f *tableForm) fit() (columns, widths []int) {
	var empty, optional []int
	for i := range f.columns {
		columns = append(columns, i)
		switch {
		case f.columns[i].optional:
			optional = append(optional, i)
		case f.empty(i):
			empty = append(empty, i)
		}
	}
	leave := slices.Concat(optional, empty) // from the end
	for {
		if widths = f.squeeze(columns); widths != nil || len(leave) == 0 {
			break
		}
		last := len(leave) - 1
		columns = slices.DeleteFunc(columns, func(i int) bool { return i == leave[last] })
		leave = leave[:last]
	}
	if widths == nil {
		return nil, nil
	}
	return columns, widths
}

func (f *tableForm) empty(i int) bool {
	return !slices.ContainsFunc(f.rows, func(row []string) bool { return row[i] != "" })
}

// squeeze returns the widths of these columns. The widest that may be cut give first, until the
// table fits; when none can give any more, there are none.
func (f *tableForm) squeeze(columns []int) []int {
	widths, floors := make([]int, len(columns)), make([]int, len(columns))
	total := len(gap) * (len(widths) - 1)
	for n, i := range columns {
		widths[n] = cells(f.columns[i].header)
		floors[n] = min(widths[n], 10)
		for _, row := range f.rows {
			widths[n] = max(widths[n], cells(row[i]))
		}
		if f.fixed(i) {
			floors[n] = widths[n]
		}
		total += widths[n]
	}
	for f.style.width > 0 && total > f.style.width {
		widest := -1
		for n, w := range widths {
			if w > floors[n] && (widest < 0 || w > widths[widest]) {
				widest = n
			}
		}
		if widest < 0 {
			return nil
		}
		widths[widest]--
		total--
	}
	return widths
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
		block := f.style.bold(row[head]) + "\n"
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
