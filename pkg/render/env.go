package render

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Assignment is a variable of -o env and the field that it is made of.
type Assignment struct{ Variable, Field string }

// EnvVariables lists what -o env assigns, in order.
func EnvVariables() []Assignment {
	return []Assignment{
		{"TODO_ID", "id"},
		{"TODO_RECEIPT", "receipt"},
		{"TODO_QUEUE", "queue"},
		{"TODO_KIND", "kind"},
		{"TODO_TITLE", "title"},
		{"TODO_SOURCE", "source"},
		{"TODO_KEY", "idempotency_key"},
		{"TODO_OWNER", "owner"},
		{"TODO_ATTEMPT", "attempt"},
		{"TODO_MAX_ATTEMPTS", "max_attempts"},
		{"TODO_DEADLINE", "lease_expires_at"}, // as seconds since 1970
		{"TODO_PAYLOAD", "payload"},
	}
}

// Env prints the row of a todo as assignments that eval understands in any POSIX shell. A null
// becomes the empty string, so that no variable keeps what an earlier todo left in it.
func Env(w io.Writer, row any) error {
	r, err := newRecord(row)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	if err := (&envForm{out: out}).row(r); err != nil {
		return writeError(err)
	}
	return writeError(out.Flush())
}

// EnvNone prints what eval needs where there is no todo: it unsets every variable and ends with the
// exit code, so that the eval itself fails with it.
func EnvNone(w io.Writer, code int) error {
	var b strings.Builder
	b.WriteString("unset")
	for _, v := range EnvVariables() {
		b.WriteString(" " + v.Variable)
	}
	fmt.Fprintf(&b, "\n(exit %d)\n", code)
	_, err := io.WriteString(w, b.String())
	return writeError(err)
}

// envForm prints one todo as assignments.
type envForm struct {
	out *bufio.Writer
	tty bool
}

func (f *envForm) row(r record) error {
	for _, v := range EnvVariables() {
		value := valueText(r.get(v.Field))
		switch v.Field {
		case "lease_expires_at":
			value = epoch(value)
		case "payload":
			value = string(r.get("payload")) // as JSON, also a string or null
		}
		if f.tty {
			value = Clean(value)
		}
		if _, err := f.out.WriteString(v.Variable + "=" + quote(value) + "\n"); err != nil {
			return err
		}
	}
	return nil
}

func (f *envForm) close() error { return nil }

// epoch turns RFC 3339 into whole seconds since 1970, and what is no moment into nothing.
func epoch(s string) string {
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return ""
	}
	return strconv.FormatInt(at.Unix(), 10)
}

// quote makes one word of s for any POSIX shell: between single quotes nothing is special.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
