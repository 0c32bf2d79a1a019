package render

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
)

// style is what tables are fitted to.
type style struct {
	width int // 0: as wide as it comes
	color bool
	now   time.Time
}

// column is one column of a table or line of a sheet; the label is what stands before its value there.
type column struct {
	field, header, label string
	optional             bool // left out of a table that does not fit otherwise
}

// parseColumns reads "name" and "name:HEADER", both with a ? at the end or without.
func parseColumns(specs []string) []column {
	var all []column
	for _, s := range specs {
		s, optional := strings.CutSuffix(s, "?")
		name, header, given := strings.Cut(s, ":")
		label := strings.ToLower(header)
		if !given {
			header, label = strings.ToUpper(strings.ReplaceAll(strings.TrimSuffix(name, "_at"), "_", " ")), name
		}
		all = append(all, column{name, header, label, optional})
	}
	return all
}

// names returns the field names of column specifications.
func names(specs []string) []string {
	var all []string
	for _, s := range specs {
		name, _, _ := strings.Cut(strings.TrimSuffix(s, "?"), ":")
		all = append(all, name)
	}
	return all
}

// whole says that the values of a field are never cut: half an id names nothing.
func whole(field, id string) bool {
	return field == id || field == "id" || field == "receipt" || strings.HasSuffix(field, "_id")
}

// isTime says that a field holds a time: all of ours are named so.
func isTime(field string) bool {
	return strings.HasSuffix(field, "_at") || field == "until" || field == "first" || field == "last" || strings.HasSuffix(field, "_until") ||
		strings.HasSuffix(field, "_since")
}

// cell is a value as a person reads it in a column: an age for a time, JSON for what is nested.
func (st style) cell(field string, value json.RawMessage) string {
	s := plain(value)
	if isTime(field) {
		if at, err := time.Parse(time.RFC3339, s); err == nil {
			if st.now.IsZero() {
				return at.UTC().Format("2006-01-02T15:04:05Z")
			}
			return Age(at, st.now)
		}
	}
	if strings.HasSuffix(field, "_seconds") {
		if n, err := strconv.ParseFloat(s, 64); err == nil {
			return span(time.Duration(n * float64(time.Second)))
		}
	}
	return Clean(s)
}

// plain is valueText, but a list of simple values is read as a, b, c.
func plain(value json.RawMessage) string {
	var list []string
	if len(value) > 0 && value[0] == '[' && json.Unmarshal(value, &list) == nil {
		return strings.Join(list, ", ")
	}
	return valueText(value)
}

// paint colors the cells whose words tell how things stand. The word is always there as well.
func (st style) paint(field, cell string) string {
	if !st.color {
		return cell
	}
	colors := map[string]string{"dead": "31", "retrying": "33", "expired": "33", "claimed": "36", "done": "32", "delayed": "2"}
	if code := colors[strings.TrimRight(cell, " ")]; code != "" && (field == "condition" || field == "state") {
		return "\x1b[" + code + "m" + cell + "\x1b[0m"
	}
	return cell
}

func (st style) bold(s string) string {
	if st.color {
		return "\x1b[1m" + s + "\x1b[0m"
	}
	return s
}

// Age tells how far at lies from now, in one unit: "3m" ago, or "in 5m".
func Age(at, now time.Time) string {
	d := now.Sub(at)
	if d <= -time.Second {
		return "in " + span(-d)
	}
	return span(max(d, 0))
}

func span(d time.Duration) string {
	n, unit := int64(d/time.Second), "s"
	switch {
	case d >= 48*time.Hour:
		n, unit = int64(d/(24*time.Hour)), "d"
	case d >= 100*time.Minute:
		n, unit = int64(d/time.Hour), "h"
	case d >= 100*time.Second:
		n, unit = int64(d/time.Minute), "m"
	}
	return strconv.FormatInt(n, 10) + unit
}

// cells counts the columns that s takes on a terminal.
func cells(s string) int { return text.StringWidthWithoutEscSequences(s) }

// fixWidths makes widths the same in every locale: go-pretty would count ambiguous characters double
// where LANG is Chinese, Japanese or Korean, and terminals do not. It is go-pretty's one switch, shared
// by all tables, and set before anything is measured.
func fixWidths() { text.OverrideRuneWidthEastAsianWidth(false) }

// cut shortens s to n cells, the last of which becomes …
func cut(s string, n int) string {
	if cells(s) <= n {
		return s
	}
	return s[:fitting(s, n-1)] + "…"
}

// wrap breaks s into lines of at most n cells, at spaces where there are some.
func wrap(s string, n int) []string {
	var lines []string
	for {
		end := fitting(s, n)
		if end == len(s) {
			return append(lines, strings.TrimRight(s, " "))
		}
		if space := strings.LastIndexByte(s[:end], ' '); space > 0 && s[end] != ' ' {
			end = space
		}
		lines = append(lines, strings.TrimRight(s[:end], " "))
		s = strings.TrimLeft(s[end:], " ")
	}
}

// fitting returns how many bytes of s take at most n cells, without parting what is joined where
// that can be helped.
func fitting(s string, n int) int {
	width, end := 0, 0
	for i, r := range s {
		w := text.RuneWidth(r)
		if w > 0 && !strings.HasSuffix(s[:i], string(zeroWidthJoiner)) {
			end = i
		}
		if width += w; width > n {
			if end == 0 {
				end = i
			}
			return end
		}
	}
	return len(s)
}

// pad fills s up to n cells.
func pad(s string, n int) string {
	return s + strings.Repeat(" ", max(0, n-cells(s)))
}
