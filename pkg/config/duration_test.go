package config_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/todoctl/todoctl/pkg/config"
)

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "2d": 2 * day, "1w": 7 * day, "1w2d3h": 9*day + 3*time.Hour,
		"1.5d": 36 * time.Hour, "-5m": -5 * time.Minute, "+5m": 5 * time.Minute, "0": 0, "0s": 0, ".5h": 30 * time.Minute,
		"100ms": 100 * time.Millisecond, "3µs": 3 * time.Microsecond,
		strings.Repeat(" ", 2) + "5m ": 5 * time.Minute,
	} {
		if got, err := config.ParseDuration(text); err != nil || got != want {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for text, words := range map[string][]string{
		"300": {"no unit", "300s", "300m"}, "1.5": {"1.5s", "1.5m"}, "": {"not a duration"}, "m": {"not a duration"},
		"5 m": {"not a duration"}, "5mm": {"not a duration"}, "1y": {"not a duration"}, "five": {"not a duration"}, "1.2.3s": {"not a duration"},
		"NaN": {"not a duration"}, "Infs": {"not a duration"}, "--5m": {"not a duration"}, "5m-1s": {"not a duration"}, "1e3s": {"not a duration"},
		"999999w": {"longest"}, "106751d106751d": {"longest"}, "９s": {"not a duration"}, "5m\x00": {"not a duration"},
	} {
		_, err := config.ParseDuration(text)
		refused(t, err, words...)
	}
}

func TestDurationsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(-1<<62, 1<<62).Draw(t, "ns"))
		for _, text := range []string{d.String(), config.FormatDuration(d)} {
			if got, err := config.ParseDuration(text); err != nil || got != d {
				t.Fatalf("%v is written %q and read as %v, %v", d, text, got, err)
			}
		}
	})
}

func TestParseDurationNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[-+]?([0-9.]{0,20}[a-zµ]{0,3}){0,4}`).Draw(t, "text")
		if d, err := config.ParseDuration(text); err == nil {
			if again, err := config.ParseDuration(d.String()); err != nil || again != d {
				t.Fatalf("%q is %v, which is read as %v, %v", text, d, again, err)
			}
		}
	})
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		5 * time.Minute: "5m", time.Hour: "1h", 90 * time.Minute: "1h30m", 7 * 24 * time.Hour: "7d", time.Second: "1s", 0: "0s",
		10 * time.Minute: "10m", 100 * time.Hour: "100h", 1500 * time.Millisecond: "1.5s",
	} {
		if got := config.FormatDuration(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestParseTime(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2026-11-01T01:30:00-04:00": time.Date(2026, 11, 1, 5, 30, 0, 0, time.UTC),
		"2026-11-01T01:30:00-05:00": time.Date(2026, 11, 1, 6, 30, 0, 0, time.UTC),
		"2026-11-01T01:30:00.250Z":  time.Date(2026, 11, 1, 1, 30, 0, 250e6, time.UTC),
		"90m":                       now.Add(-90 * time.Minute),
		"1d":                        now.Add(-24 * time.Hour),
		"0s":                        now,
	} {
		if got, err := config.ParseTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q is %v, %v, want %v", text, got, err, want)
		}
	}
	for text, words := range map[string][]string{
		"2026-01-02T15:04:05":  {"no time zone", "2026-01-02T15:04:05Z", "2026-01-02T15:04:05+02:00"},
		"2026-01-02 15:04":     {"no time zone", "2026-01-02T15:04:00Z"},
		"2026-01-02":           {"no time zone", "2026-01-02T00:00:00Z"},
		"1767366245":           {"1767366245s", "2026-01-02T15:04:05Z"},
		"0":                    {"0s", "1970-01-01T00:00:00Z"},
		"-1h":                  {"negative", "write 1h"},
		"yesterday":            {"neither a time nor a duration", "90m"},
		"":                     {"neither a time nor a duration"},
		"2026-13-01T00:00:00Z": {"neither a time nor a duration"},
	} {
		_, err := config.ParseTime(text, now)
		refused(t, err, words...)
	}
}
