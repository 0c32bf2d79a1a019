package config

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// ParseDuration reads Go's durations and those with days and weeks: 90s, 1h30m, 2d, 1w2d. A number
// without a unit is refused, since seconds and minutes are equally likely to be meant.
func ParseDuration(s string) (time.Duration, error) {
	bad := func(why string) error {
		return todo.Errorf(todo.CodeUsage, "%q is not a duration%s", s, why).
			WithHint("durations are written 90s, 5m, 1h30m, 2d, 1w")
	}
	rest, negative := strings.CutPrefix(strings.TrimSpace(s), "-")
	if !negative {
		rest = strings.TrimPrefix(rest, "+")
	}
	switch _, err := strconv.ParseFloat(rest, 64); {
	case rest == "":
		return 0, bad("")
	case strings.Trim(rest, "0") == "":
		return 0, nil
	case err == nil && strings.Trim(rest, "0123456789.") == "":
		return 0, todo.Errorf(todo.CodeUsage, "%q has no unit", s).
			WithHint("write %ss for seconds or %sm for minutes", rest, rest)
	}
	var total time.Duration
	for rest != "" {
		number, unit, after := nextPart(rest)
		part, fits, known := partOf(number, unit)
		switch {
		case !known:
			return 0, bad("")
		case !fits || total > math.MaxInt64-part:
			return 0, bad(" that fits: the longest is 290 years")
		}
		total += part
		rest = after
	}
	if negative {
		total = -total
	}
	return total, nil
}

// nextPart cuts the first number and its unit off.
func nextPart(s string) (number, unit, rest string) {
	i := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if i < 0 {
		return s, "", ""
	}
	number, s = s[:i], s[i:]
	i = strings.IndexAny(s, "0123456789.")
	if i < 0 {
		i = len(s)
	}
	return number, s[:i], s[i:]
}

// partOf is one number and unit; Go's parser takes the number, so that nothing is rounded by us.
func partOf(number, unit string) (part time.Duration, fits, known bool) {
	times := int64(1)
	switch unit {
	case "w":
		times, unit = 7*24, "h"
	case "d":
		times, unit = 24, "h"
	}
	if _, err := time.ParseDuration("1" + unit); err != nil {
		return 0, false, false
	}
	if _, err := strconv.ParseFloat(number, 64); err != nil {
		return 0, false, false
	}
	part, err := time.ParseDuration(number + unit)
	return time.Duration(int64(part) * times), err == nil && int64(part) <= math.MaxInt64/times, true
}

// FormatDuration writes a duration as ParseDuration reads it, in few words: 7d, 1h30m, 45s.
func FormatDuration(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= day && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Moment is a point in time as a user writes it: absolute, or so long before now. It is resolved
// against the server's clock, not this machine's.
type Moment struct {
	At   time.Time     // zero when Back says it
	Back time.Duration // how long before now
}

// Resolve returns the moment for a given now.
func (m Moment) Resolve(now time.Time) time.Time {
	if m.At.IsZero() {
		return now.Add(-m.Back)
	}
	return m.At
}

// ParseTime is ParseMoment, resolved.
func ParseTime(s string, now time.Time) (time.Time, error) {
	m, err := ParseMoment(s)
	if err != nil {
		return time.Time{}, err
	}
	return m.Resolve(now), nil
}

// ParseMoment reads RFC 3339 with an offset, or a duration back from now. A time without a zone and
// a bare number are refused, with what each could mean.
func ParseMoment(s string) (Moment, error) {
	text := strings.TrimSpace(s)
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return Moment{At: at.UTC()}, nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02"} {
		if at, err := time.Parse(layout, text); err == nil {
			full := at.Format("2006-01-02T15:04:05")
			return Moment{}, todo.Errorf(todo.CodeUsage, "%q has no time zone", s).
				WithHint("write %sZ for UTC, or the local time with its offset, as in %s+02:00", full, full)
		}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return Moment{}, todo.Errorf(todo.CodeUsage, "%q is neither a time nor a duration", s).
			WithHint("write %ss for so many seconds ago, or %s for that second since 1970", text,
				time.Unix(n, 0).UTC().Format(time.RFC3339))
	}
	d, err := ParseDuration(text)
	switch {
	case err != nil:
		return Moment{}, todo.Errorf(todo.CodeUsage, "%q is neither a time nor a duration", s).
			WithHint("write 2026-01-31T09:00:00Z, or 90m, 2d, 1w for so long ago")
	case d < 0:
		return Moment{}, todo.Errorf(todo.CodeUsage, "%q is negative", s).
			WithHint("a duration here counts back from now: write %s", strings.TrimPrefix(text, "-"))
	}
	return Moment{Back: d}, nil
}
