package render

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

const zeroWidthJoiner = '\u200D' // holds emoji together, and moves nothing

// hidden says whether a terminal might act on r instead of showing it: control characters, those that
// turn the direction of text or are otherwise unseen, and the two line ends of Unicode.
func hidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < 0x20 || r == 0x7F
	}
	return r != zeroWidthJoiner && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Clean makes text harmless on a terminal and keeps it on one line: what a terminal might act upon
// is shown as \n, \x1b or \u202e, and bytes that are not UTF-8 as \xff.
func Clean(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, hidden) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		if r == utf8.RuneError && s[i] != "\uFFFD"[0] {
			fmt.Fprintf(&b, `\x%02x`, s[i])
			continue
		}
		if hidden(r) {
			b.WriteString(escape(r))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// escape is the visible form of one rune.
func escape(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r <= 0xFFFF:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// UseColor decides about color: the --color value first, then NO_COLOR, CLICOLOR_FORCE, CLICOLOR=0
// and TERM=dumb, then whether the answer goes to a terminal.
func UseColor(mode string, getenv func(string) string, tty bool) bool {
	force := getenv("CLICOLOR_FORCE")
	switch {
	case mode == "always":
		return true
	case mode == "never" || getenv("NO_COLOR") != "":
		return false
	case force != "" && force != "0":
		return true
	case getenv("CLICOLOR") == "0" || getenv("TERM") == "dumb":
		return false
	}
	return tty
}

// Cell makes text harmless and exactly n columns wide: cut with … at its end, or filled up.
func Cell(s string, n int) string {
	fixWidths()
	if n <= 0 {
		return ""
	}
	s = Clean(s)
	if cells(s) > n {
		s = cut(s, n)
	}
	return pad(s, n)
}

// Lines makes text harmless and breaks it into lines of at most n columns; its own line ends stay.
func Lines(s string, n int) []string {
	fixWidths()
	var all []string
	for _, line := range strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n") {
		all = append(all, wrap(Clean(line), max(n, 1))...)
	}
	return all
}
