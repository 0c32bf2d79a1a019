package cmd_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// steers finds what a terminal might act upon.
func steers(s string) (rune, bool) {
	for _, r := range s {
		if r != '\n' && r != '\t' && r != '\u200D' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return r, true
		}
	}
	return 0, false
}

func TestCaseC105NothingRawReachesATerminal(t *testing.T) {
	c := newCLI(t).with("TERM=xterm", "NO_COLOR=1")
	c.enqueueCase("C105-escapes.ndjson")
	c.ok("enqueue", "-q", "first", "--title", "rlo \u202e c1 \u009b31m del \x7f", "--assignee", "w", "--source", "\x1b[2J", `"\u202e\\u001b"`)
	id := c.ok("list", "-q", "first", "-o", "id")
	for _, args := range []string{"show " + id, "show " + id + " -o json", "show " + id + " -o csv", "show " + id + " --jq .title,.payload",
		"list", "list -o wide", "list -o json", "list -o jsonl", "list -o csv", "list -o tsv", "claim -q first -o env"} {
		r := c.tty(80, strings.Fields(args)...)
		if bad, found := steers(r.out); found || r.code != 0 || !strings.Contains(r.out, "202e") && !strings.Contains(r.out, "rlo") {
			t.Errorf("%v: exit %d, %U in %q", args, r.code, bad, r.out)
		}
	}
	// An error quotes what it was given.
	for _, argv := range [][]string{{"show", "td_\x1b[31mred\u202e"}, {"list", "--state", "\x1b[2J"}, {"\x1b]0;title\a"}, {"list", "--\x1b[1m"}} {
		r := c.tty(80, argv...)
		if bad, found := steers(r.out); found || r.code == 0 || !strings.Contains(r.out, `\x1b`) {
			t.Errorf("%q: exit %d, %U in %q", argv, r.code, bad, r.out)
		}
	}
}

func TestCaseC107TablesStandStraight(t *testing.T) {
	c := newCLI(t).with("TERM=xterm", "NO_COLOR=1")
	lines := c.enqueueCase("C107-wide.ndjson", "--delay", "100h") // so that the age stays the same
	titles := c.ok("list", "--jq", ".[].title")
	for i, title := range strings.Split(titles, "\n") {
		if want := decode[struct{ Title string }](t, lines[i]).Title; title != want {
			t.Errorf("title %q came back as %q", want, title)
		}
	}
	var first string
	for _, width := range []int{80, 100, 200} {
		for _, locale := range []string{"C.UTF-8", "zh_CN.UTF-8"} {
			shown := c.with("LANG="+locale, "LC_ALL="+locale).tty(width, "list").out
			rows := strings.Split(strings.TrimRight(shown, "\n"), "\n")
			if len(rows) != 7 {
				t.Fatalf("%d rows:\n%s", len(rows), shown)
			}
			for i, row := range rows {
				if i == 4 {
					continue // joined emoji
				}
				if got, want := cellsOf(row), cellsOf(rows[0]); got != want || got > width {
					t.Errorf("width %d, %s: %d cells, the header has %d: %q", width, locale, got, want, row)
				}
			}
			if locale == "C.UTF-8" {
				first = shown
			} else if shown != first {
				t.Errorf("with LANG=%s\n%s\nelsewhere\n%s", locale, shown, first)
			}
		}
	}
}

func TestCaseC109ColorGoesToTerminalsAlone(t *testing.T) {
	c := newCLI(t)
	c.ok("enqueue", "-q", "q", "--title", "x", "1")
	escape := regexp.MustCompile("\x1b\\[")
	for _, x := range []struct {
		env   []string
		args  []string
		tty   bool
		color bool
	}{
		{[]string{"TERM=xterm"}, []string{"list"}, true, true},
		{[]string{"TERM=xterm", "NO_COLOR="}, []string{"list"}, true, true},
		{[]string{"TERM=xterm", "NO_COLOR=1"}, []string{"list"}, true, false},
		{[]string{"TERM=dumb"}, []string{"list"}, true, false},
		{[]string{"TERM=xterm", "CLICOLOR=0"}, []string{"list"}, true, false},
		{[]string{"TERM=xterm"}, []string{"list", "--color=never"}, true, false},
		{[]string{"TERM=xterm", "TODOCTL_COLOR=never"}, []string{"list"}, true, false},
		{[]string{"TERM=xterm", "NO_COLOR=1"}, []string{"list", "--color=always"}, true, true},
		{[]string{"TERM=xterm"}, []string{"list", "-o", "json"}, true, false},
		{nil, []string{"list"}, false, false},
		{nil, []string{"list", "-o", "table"}, false, false},
		{[]string{"CLICOLOR_FORCE=1"}, []string{"list", "-o", "table"}, false, true},
		{[]string{"CLICOLOR_FORCE=1", "NO_COLOR=1"}, []string{"list", "-o", "table"}, false, false},
		{[]string{"CLICOLOR_FORCE=1"}, []string{"list"}, false, false},
		{[]string{"CLICOLOR_FORCE=1"}, []string{"list", "-o", "json"}, false, false},
		{nil, []string{"list", "-o", "json", "--color=always"}, false, false},
	} {
		d := c.with(x.env...)
		var r outcome
		if x.tty {
			r = d.tty(80, x.args...)
		} else {
			r = d.run(x.args...)
		}
		if got := escape.MatchString(r.out + r.err); got != x.color || r.code != 0 {
			t.Errorf("%v %v on a terminal %v: color %v, exit %d: %q", x.env, x.args, x.tty, got, r.code, r.out)
		}
	}
}

func TestFormFollowsTheTerminal(t *testing.T) {
	c := newCLI(t).with("NO_COLOR=1")
	id := c.ok("enqueue", "-q", "q", "--title", "x", "1")
	if got := c.tty(80, "list").out; !strings.HasPrefix(got, "ID ") || !strings.Contains(got, id) {
		t.Errorf("on a terminal: %q", got)
	}
	if got := c.ok("list"); !strings.HasPrefix(got, id+"\t") || strings.Contains(got, "\n") {
		t.Errorf("off a terminal: %q", got)
	}
	for line := range strings.Lines(c.tty(40, "list").out) {
		if cellsOf(line) > 40 {
			t.Errorf("wider than the terminal: %q", line)
		}
	}
}
