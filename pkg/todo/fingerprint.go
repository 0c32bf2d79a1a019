package todo

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

// Fingerprint groups failures that differ only in what varies from one to the next: it is a hash of
// the error text without its quoted text, uuids, addresses, times, paths, hex and numbers. Twelve hex digits.
// It is computed once, when a todo fails, and stored.
func Fingerprint(text string) string {
	sum := sha256.Sum256([]byte(Template(text)))
	return hex.EncodeToString(sum[:6])
}

// Template returns the first line of an error text with its varying parts replaced by marks.
func Template(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	line = strings.TrimSuffix(line, "\r")
	// What has none of the characters of a part has no such part, and its pattern need not be read: failures come in bursts.
	for _, v := range []struct{ signs, pattern, mark string }{
		{"\"'`", `"(?:[^"\\]|\\.)*"|'[^']*'|` + "`[^`]*`", "<text>"},
		{"/", `(://[^/\s?#]+)[/?#][^\s"'<>()\[\],;]*`, "$1/<path>"}, // of a URL the host stays: it tells who failed
		{"-", `(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, "<uuid>"},
		{"@", `[\w.+%-]+@[\w-]+(?:\.[\w-]+)+`, "<address>"},
		{"-/", `\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?`, "<time>"},
		{":", `\b(?:[A-Z][a-z][a-z],? +)?(?:\d{1,2} +)?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +(?:\d{1,2} +|\d{4} +)` +
			`\d\d:\d\d:\d\d(?: +[A-Z]{3,4}\b| +[+-]\d{4})?(?: +\d{4}\b)?`, "<time>"},
		{":", `(^|[^\w.:-])\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?\b`, "$1<time>"}, // not the end of an address and its port, nor a line and its column
		{":", `(?i)\[[0-9a-f:.]*:[0-9a-f:.]+\]|\b(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}\b|\b(?:[0-9a-f]{1,4}:)+:[0-9a-f:]+`, "<ip>"},
		{`/\`, `(?:[A-Za-z]:|~|\.{1,2})?(?:[/\\][\w.@~+%-]+){2,}[/\\]?|\b[\w.@~+-]+(?:/[\w@~+-]+)*/[\w@~+-]+\.\w+`, "<path>"},
		{`/\`, `(^|[\s=(<\[])[/\\][\w.@~+%-]+`, "$1<path>"},
		{"smh", `\b(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|h|m|s))+\b`, "<duration>"},
	} {
		if strings.ContainsAny(line, v.signs) {
			line = regexp.MustCompile(v.pattern).ReplaceAllString(line, v.mark)
		}
	}
	line = regexp.MustCompile(`<[a-z]+>|[0-9A-Za-z]+`).ReplaceAllStringFunc(line, withoutID)
	line = regexp.MustCompile(`(^|[\s=(\[,:])[-+]\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?|\d+(?:[.,]\d+)*(?:[eE][-+]?\d+)?`).ReplaceAllString(line, "$1<n>")
	return strings.Join(strings.Fields(line), " ")
}

// withoutID makes a number of a word that is hex or a made-up name: the numbers are taken out after it. Short
// words keep their letters, which mean something: utf8, h2, db7.
func withoutID(word string) string {
	digits := strings.IndexFunc(word, func(r rune) bool { return r >= '0' && r <= '9' }) >= 0
	letters := strings.ContainsFunc(word, func(r rune) bool { return r > '9' })
	isHex := !strings.ContainsFunc(word, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'f') && (r < 'A' || r > 'F')
	})
	switch {
	case word[0] == '<' || !letters && len(word) < 20:
		return word
	case strings.HasPrefix(word, "0x"), isHex && (len(word) >= 8 || digits && len(word) >= 6), digits && len(word) >= 10:
		return "0"
	}
	return word
}
