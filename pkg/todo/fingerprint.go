package todo

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

// Fingerprint groups failures that differ only in what varies from one to the next: it is a hash of
// the error text without its quoted text, uuids, times, paths, hex and numbers. Twelve hex digits.
// It is computed once, when a todo fails, and stored.
func Fingerprint(text string) string {
	sum := sha256.Sum256([]byte(Template(text)))
	return hex.EncodeToString(sum[:6])
}

// Template returns the first line of an error text with its varying parts replaced by marks.
func Template(text string) string {
	line := regexp.MustCompile(`\r?\n`).Split(text, 2)[0]
	for _, v := range []struct{ pattern, mark string }{
		{`"(?:[^"\\]|\\.)*"|'[^']*'|` + "`[^`]*`", "<text>"},
		{`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`, "<uuid>"},
		{`\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?`, "<time>"},
		{`\b\d\d:\d\d(?::\d\d(?:\.\d+)?)?\b`, "<time>"},
		{`(?:[A-Za-z]:)?(?:[/\\][\w.@~+-]+){2,}[/\\]?`, "<path>"},
		{`(?i)\b0x[0-9a-f]+\b|\b[0-9a-f]*(?:[0-9][a-f]|[a-f][0-9])[0-9a-f]{4,}\b`, "<hex>"},
		{`\d+(?:[.,]\d+)*`, "<n>"},
		{`\s+`, " "},
	} {
		line = regexp.MustCompile(v.pattern).ReplaceAllString(line, v.mark)
	}
	return line
}
