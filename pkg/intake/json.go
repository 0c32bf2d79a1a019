// Package intake reads the todos that users hand in: lines of JSON for a bulk enqueue, and JSON
// values for flags. What PostgreSQL's jsonb cannot hold is found here, before the database is asked,
// so that the verdict names the line and is the same at every entry point.
package intake

import (
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Limits on JSON. The server's stack (2 MB by default) takes some 6,000 levels; a thousand leaves room
// for everyone's parser. Exponents beyond MaxExponent do not fit a numeric.
const (
	MaxDepth    = 1000
	MaxExponent = 16000
	MaxLine     = 16 << 20
)

// CheckJSON returns a data error unless raw is one JSON value that jsonb can hold, digit for digit:
// valid UTF-8, no NUL and no unpaired surrogate escape, not nested too deeply, no number out of range.
func CheckJSON(raw []byte) error { return check(raw, MaxDepth) }

// check is CheckJSON with another limit on the depth: a line has one level around its payload.
func check(raw []byte, levels int) error {
	if err := checkScalars(raw, levels); err != nil {
		return todo.Errorf(todo.CodeData, "%v", err)
	}
	if json.Valid(raw) {
		return nil
	}
	var v json.RawMessage
	err := json.Unmarshal(raw, &v)
	if s, ok := err.(*json.SyntaxError); ok {
		return todo.Errorf(todo.CodeData, "not valid JSON at byte %d: %v", s.Offset, err)
	}
	return todo.Errorf(todo.CodeData, "not valid JSON: %v", err)
}

// checkScalars walks the bytes once for what json.Valid lets through and jsonb does not.
func checkScalars(raw []byte, levels int) error {
	depth := 0
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			n, err := checkString(raw, i)
			if err != nil {
				return err
			}
			i = n
		case c == '[' || c == '{':
			if depth++; depth > levels {
				return fmt.Errorf("nested more than %d levels deep at byte %d", MaxDepth, i+1)
			}
			i++
		case c == ']' || c == '}':
			depth--
			i++
		case c == '-' || c >= '0' && c <= '9':
			n, err := checkNumber(raw, i)
			if err != nil {
				return err
			}
			i = n
		case c >= utf8.RuneSelf:
			return notUTF8OrJSON(raw, i)
		default:
			i++
		}
	}
	return nil
}

func notUTF8OrJSON(raw []byte, i int) error {
	if r, n := utf8.DecodeRune(raw[i:]); r == utf8.RuneError && n == 1 {
		return fmt.Errorf("not valid UTF-8 at byte %d", i+1)
	}
	return fmt.Errorf("not valid JSON at byte %d", i+1)
}

// checkString checks the string that begins at i and returns the place after it.
func checkString(raw []byte, i int) (int, error) {
	for i++; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\' && i+1 < len(raw) && raw[i+1] == 'u':
			n, err := checkEscape(raw, i)
			if err != nil {
				return 0, err
			}
			i = n
		case c == '\\':
			i += 2
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(raw[i:])
			if r == utf8.RuneError && n == 1 {
				return 0, fmt.Errorf("not valid UTF-8 at byte %d", i+1)
			}
			i += n
		}
	}
	return i, nil // unterminated: json.Valid says so
}

// checkEscape checks the \u escape at i, and its second half where it is a surrogate.
func checkEscape(raw []byte, i int) (int, error) {
	code, ok := hex4(raw, i+2)
	switch {
	case !ok:
		return i + 2, nil // malformed: json.Valid says so
	case code == 0:
		return 0, fmt.Errorf("byte %d holds \\u0000, which PostgreSQL's jsonb cannot hold", i+1)
	case code >= 0xDC00 && code <= 0xDFFF:
		return 0, fmt.Errorf("unpaired surrogate escape at byte %d", i+1)
	case code >= 0xD800 && code <= 0xDBFF:
		if i+7 < len(raw) && raw[i+6] == '\\' && raw[i+7] == 'u' {
			if low, ok := hex4(raw, i+8); ok && low >= 0xDC00 && low <= 0xDFFF {
				return i + 12, nil
			}
		}
		return 0, fmt.Errorf("unpaired surrogate escape at byte %d", i+1)
	}
	return i + 6, nil
}

func hex4(raw []byte, i int) (uint64, bool) {
	if i+4 > len(raw) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[i:i+4]), 16, 32)
	return n, err == nil
}

// checkNumber checks the size of the number at i and returns the place after it.
func checkNumber(raw []byte, i int) (int, error) {
	start, exponent := i, -1
	for ; i < len(raw); i++ {
		c := raw[i]
		if c == 'e' || c == 'E' {
			exponent = i + 1
		} else if (c < '0' || c > '9') && c != '.' && c != '+' && c != '-' {
			break
		}
	}
	if i-start > MaxExponent {
		return 0, fmt.Errorf("the number at byte %d has more than %d digits", start+1, MaxExponent)
	}
	if exponent > 0 {
		if n, err := strconv.Atoi(string(raw[exponent:i])); err == nil && (n > MaxExponent || n < -MaxExponent) || numError(err) {
			return 0, fmt.Errorf("the number at byte %d is out of the range of a numeric", start+1)
		}
	}
	return i, nil
}

func numError(err error) bool {
	e, ok := err.(*strconv.NumError)
	return ok && e.Err == strconv.ErrRange
}
