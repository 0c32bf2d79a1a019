//go:build unix

package worker

import "strings"

// tailSize is how much of a command's stderr is kept for the error text.
const tailSize = 64 << 10

// tail keeps the end of a text.
type tail struct{ text []byte }

// add adds a line.
func (t *tail) add(line []byte) {
	t.text = append(append(t.text, line...), '\n')
	if len(t.text) > 2*tailSize {
		t.text = append(t.text[:0], t.text[len(t.text)-tailSize:]...)
	}
}

// String returns at most the last tailSize bytes, as valid UTF-8.
func (t *tail) String() string {
	text := t.text[max(0, len(t.text)-tailSize):]
	return strings.TrimSpace(strings.ToValidUTF8(string(text), "\uFFFD"))
}

// failure is the error text of a command that failed: how it ended and the last thing that it said
// in the first line, by which failures are grouped, then all that is kept of what it said.
func failure(how, said string) string {
	if said == "" {
		return how
	}
	last := said[strings.LastIndexByte(said, '\n')+1:]
	if last == said {
		return how + ": " + last
	}
	return how + ": " + last + "\n" + said
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
