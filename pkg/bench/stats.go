package main

import (
	"slices"
	"strconv"
)

// samples holds what was measured, by name, one number for each round.
type samples map[string][]float64

func (s samples) add(name string, v float64) { s[name] = append(s[name], v) }

// ratios divides what two sides measured in the same round.
func (s samples) ratios(a, b string) []float64 {
	var out []float64
	for i := range min(len(s[a]), len(s[b])) {
		out = append(out, s[a][i]/s[b][i])
	}
	return out
}

func median(list []float64) float64 { return quantile(list, 0.5) }

// quantile interpolates between the two values around the place.
func quantile(list []float64, q float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// Figure is one line of the table: a measured value beside what it should be.
type Figure struct {
	Goal   string  `json:"goal"`   // number of the goal, or a name
	What   string  `json:"what"`   // what is divided by what
	Value  float64 `json:"value"`  // the median over the rounds
	Unit   string  `json:"unit"`   // x for a ratio, else ms, MiB
	Low    float64 `json:"low"`    // of the rounds
	High   float64 `json:"high"`   // of the rounds
	Rounds int     `json:"rounds"` //
	Target string  `json:"target"` // ">= 0.60", "<= 50", or "" where there is none
	Met    *bool   `json:"met"`    // null where there is no target
	Raw    []Raw   `json:"raw"`    // what it was made of
}

// Raw is the median of what one side measured.
type Raw struct {
	Name   string    `json:"name"`
	Unit   string    `json:"unit"`
	Median float64   `json:"median"`
	Rounds []float64 `json:"rounds"`
}

// atLeast and atMost judge a figure.
func (f Figure) atLeast(v float64) Figure { return f.judge(">= ", v, f.Value >= v) }
func (f Figure) atMost(v float64) Figure  { return f.judge("<= ", v, f.Value <= v) }

func (f Figure) judge(sign string, v float64, met bool) Figure {
	f.Target, f.Met = sign+strconv.FormatFloat(v, 'f', -1, 64), &met
	return f
}

// figure makes a line of values, one for each round.
func figure(goal, what, unit string, list []float64, raw ...Raw) Figure {
	f := Figure{Goal: goal, What: what, Unit: unit, Value: median(list), Rounds: len(list), Raw: append([]Raw{}, raw...)}
	if len(list) > 0 {
		f.Low, f.High = slices.Min(list), slices.Max(list)
	}
	return f
}

// ratio makes the line of a divided by b, with what both measured.
func (s samples) ratio(goal, what, unit, a, b string) Figure {
	return figure(goal, what, "x", s.ratios(a, b), s.raw(a, unit), s.raw(b, unit))
}

func (s samples) raw(name, unit string) Raw {
	return Raw{Name: name, Unit: unit, Median: median(s[name]), Rounds: s[name]}
}
