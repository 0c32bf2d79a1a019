package intake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/todoctl/todoctl/pkg/todo"
)

// object returns the members of a JSON object that has been checked to be valid. A member that is
// there twice is refused: two readers could each believe another of them. It cuts the bytes where a
// general decoder would take them apart; a bulk enqueue spends most of its own time here.
func object(raw []byte) (map[string]json.RawMessage, error) {
	members := make(map[string]json.RawMessage, 8)
	return members, cut(raw, members, nil)
}

// cut is object into a map that is there. Names that are known are not copied.
func cut(raw []byte, members map[string]json.RawMessage, known []string) error {
	for i := skipSpace(raw, 1); raw[i] != '}'; {
		end := skipString(raw, i)
		name, err := memberName(raw[i:end], known)
		if err != nil {
			return err
		}
		if _, twice := members[name]; twice {
			return fmt.Errorf("field %q is there twice", name)
		}
		begin := skipSpace(raw, skipSpace(raw, end)+1) // past the colon
		end = skipValue(raw, begin)
		members[name] = raw[begin:end:end]
		if i = skipSpace(raw, end); raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return nil
}

func memberName(quoted []byte, known []string) (string, error) {
	for _, name := range known {
		if string(quoted[1:len(quoted)-1]) == name {
			return name, nil
		}
	}
	return unquote(quoted)
}

// onlyKnown refuses a member that has none of the known names: it is most likely a misspelt one.
func onlyKnown(members map[string]json.RawMessage, known []string) error {
	bad := func(name string) bool { return !slices.Contains(known, name) }
	strange := false
	for name := range members {
		strange = strange || bad(name)
	}
	if !strange {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(members)) { // so that it is always the same that is named
		if !bad(name) {
			continue
		}
		if near := todo.Nearest(name, known); near != "" {
			return fmt.Errorf("unknown field %q, did you mean %q?", name, near)
		}
		return fmt.Errorf("unknown field %q", name)
	}
	return nil
}

func unquote(raw []byte) (string, error) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err
}

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\n' || raw[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the place after the string that begins at i.
func skipString(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// skipValue returns the place after the value that begins at i.
func skipValue(raw []byte, i int) int {
	depth := 0
	for ; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = skipString(raw, i) - 1
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // the end of what holds a number or a word
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}
