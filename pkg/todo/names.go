package todo

import (
	"strings"
	"unicode/utf8"
)

// Limits on names, in bytes, and on leases. They are checked before the database is asked, so that
// the verdict is the same for every spelling; the schema checks the sizes again.
const (
	MaxQueue = 128
	MaxKey   = 1024
	MaxOwner = 255
	MaxTitle = 64 << 10 // title, kind and source
	MaxError = 64 << 10 // error text; longer is cut, with a mark
)

const queueHint = "a queue name is 1 to 128 of A-Z a-z 0-9 . _ : / - and does not begin with a dash"

// CheckQueue returns a data error unless name can be a queue.
func CheckQueue(name string) error {
	bad := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:/-", r))
	}
	switch {
	case name == "":
		return Errorf(CodeData, "the queue name is empty").WithHint(queueHint)
	case len(name) > MaxQueue:
		return Errorf(CodeData, "the queue name has %d bytes, more than %d", len(name), MaxQueue).WithHint(queueHint)
	case name[0] == '-' || strings.ContainsFunc(name, bad):
		return Errorf(CodeData, "%q is not a queue name", clip(name)).WithHint(queueHint)
	}
	return nil
}

// CheckKey returns a data error unless key can be an idempotency key. Keys are compared byte by byte.
func CheckKey(key string) error {
	err := checkText("the key", key, MaxKey)
	if key == "" {
		return err.(*Error).WithHint("leave the key away for a todo without one; an unset variable often makes it empty")
	}
	return err
}

// CheckOwner returns a data error unless name can be an owner or assignee; what says which.
func CheckOwner(what, name string) error { return checkText("the "+what, name, MaxOwner) }

// CheckText returns a data error unless s can be stored as what (title, kind, source). It may be empty.
func CheckText(what, s string) error {
	if s == "" {
		return nil
	}
	return checkText("the "+what, s, MaxTitle)
}

func checkText(what, s string, limit int) error {
	switch {
	case strings.TrimSpace(s) == "" && (s == "" || limit == MaxOwner):
		return Errorf(CodeData, "%s is empty", what)
	case len(s) > limit:
		return Errorf(CodeData, "%s has %d bytes, more than %d", what, len(s), limit)
	case !utf8.ValidString(s):
		return Errorf(CodeData, "%s is not valid UTF-8 at byte %d", what, invalidAt(s)+1)
	case strings.ContainsRune(s, 0):
		return Errorf(CodeData, "%s holds a NUL byte, which PostgreSQL cannot store", what)
	}
	return nil
}

// CleanError makes any bytes storable as the text of a failure: invalid UTF-8 and NUL become U+FFFD,
// and what exceeds MaxError is cut with a mark. A failure must never fail to be recorded.
func CleanError(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) <= MaxError {
		return s
	}
	const mark = "\n[… cut by todoctl]"
	cut := MaxError - len(mark)
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}

func validText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

func invalidAt(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return i
			}
		}
	}
	return -1
}

// clip shortens text that goes into a message.
func clip(s string) string {
	if len(s) <= 80 {
		return s
	}
	return strings.ToValidUTF8(s[:80], "") + "…"
}
