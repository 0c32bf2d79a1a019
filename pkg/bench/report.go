package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// write prints the figures, as a table or as one JSON object.
func write(w io.Writer, asJSON bool, m machine, list []Figure) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(map[string]any{"machine": m, "figures": list})
	}
	fmt.Fprintf(w, "%s\n%s\n\n", m.Host, m.Server)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "goal\twhat\tmeasured\ttarget\tmet\tspread\traw")
	for _, f := range list {
		met := "-"
		if f.Met != nil {
			met = map[bool]string{true: "yes", false: "NO"}[*f.Met]
		}
		var raw []string
		for _, r := range f.Raw {
			raw = append(raw, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Name, short(r.Median), r.Unit)))
		}
		fmt.Fprintf(t, "%s\t%s\t%s %s\t%s\t%s\t%s - %s (%d)\t%s\n", f.Goal, f.What, short(f.Value), f.Unit, f.Target, met,
			short(f.Low), short(f.High), f.Rounds, strings.Join(raw, ", "))
	}
	return t.Flush()
}

// short writes a number with three digits that count, and whole numbers whole.
func short(v float64) string {
	switch {
	case v >= 100 || v <= -100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}
