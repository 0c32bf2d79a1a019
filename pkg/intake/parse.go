package intake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/todoctl/todoctl/pkg/config"
	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// Fields are the members that a line may have.
func Fields() []string {
	return []string{"queue", "title", "kind", "source", "payload", "key", "idempotency_key", "assignee", "max_attempts",
		"delay", "at", "head_start", "event_id", "event"}
}

const bom = "\xef\xbb\xbf"

// parser makes a todo of a line of a bulk enqueue.
type parser struct {
	defaults queue.NewTodo
	keep     bool                       // the line itself is wanted back where the server finds it bad
	answers  []string                   // members of a line that todoctl printed
	known    []string                   // members of any other
	members  map[string]json.RawMessage // of the line at hand
}

// parse reads one line; nil without an error is a blank one.
func (p parser) parse(raw []byte, number int) (*queue.NewTodo, error) {
	line, err := trim(raw, MaxDepth+1)
	if err != nil || line == nil {
		return nil, err
	}
	members := p.members
	clear(members)
	if err := cut(line, members, p.known); err != nil {
		return nil, err
	}
	if printed(members) {
		err = p.again(members)
	} else {
		err = onlyKnown(members, p.known)
	}
	if err != nil {
		return nil, err
	}
	n := p.defaults
	n.Line = number
	if err := overlay(&n, members); err != nil {
		return nil, err
	}
	if p.keep && n.EventID != nil {
		n.Raw = string(raw) // whether there is such an event the server will say
	}
	return &n, CheckTodo(&n)
}

// trim returns the JSON object of a line, checked to be one that jsonb can hold; nil for a blank line.
func trim(raw []byte, levels int) ([]byte, error) {
	raw = bytes.TrimSpace(bytes.TrimPrefix(raw, []byte(bom))) // a mark at the head of each of several joined files
	if len(raw) == 0 {
		return nil, nil
	}
	if raw[0] == '[' {
		return nil, fmt.Errorf("an array, not an object; split it first: jq -c '.[]'")
	}
	if raw[0] != '{' {
		return nil, fmt.Errorf("not a JSON object")
	}
	if err := check(raw, levels); err != nil {
		if bytes.Equal(raw, []byte("{")) || raw[len(raw)-1] == ',' || raw[len(raw)-1] == '{' {
			return nil, fmt.Errorf("%w; one object a line: jq -c .", err)
		}
		return nil, err
	}
	return raw, nil
}

// overlay puts the members of a line over the defaults.
func overlay(n *queue.NewTodo, members map[string]json.RawMessage) error {
	text := func(name string, to *string) error {
		return member(members, name, func(raw json.RawMessage) error { return str(raw, to) })
	}
	optional := func(name string, to **string) error {
		return member(members, name, func(raw json.RawMessage) error { return optionalStr(raw, to) })
	}
	if _, both := members["idempotency_key"]; both && members["key"] != nil {
		return fmt.Errorf("key and idempotency_key are the same field; give one")
	}
	for _, err := range []error{
		text("queue", &n.Queue), text("title", &n.Title), text("kind", &n.Kind), text("source", &n.Source),
		optional("key", &n.Key), optional("idempotency_key", &n.Key), optional("assignee", &n.Assignee), optional("event_id", &n.EventID),
		member(members, "payload", func(raw json.RawMessage) error { n.Payload = string(raw); return nil }),
		member(members, "max_attempts", func(raw json.RawMessage) error { return number(raw, &n.MaxAttempts) }),
		schedule(n, members),
	} {
		if err != nil {
			return err
		}
	}
	return member(members, "event", func(raw json.RawMessage) error {
		n.EventID = nil
		e, err := Event(n, raw)
		n.Event = e
		return err
	})
}

// schedule reads delay, at and head_start, of which a line has one at most.
func schedule(n *queue.NewTodo, members map[string]json.RawMessage) error {
	given := 0
	for _, name := range []string{"delay", "at", "head_start"} {
		raw, ok := members[name]
		if !ok || string(raw) == "null" {
			continue
		}
		if given++; given > 1 {
			return fmt.Errorf("give one of delay, at and head_start")
		}
		var s string
		if err := str(raw, &s); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		n.At, n.Delay = nil, nil
		if err := Schedule(n, name, s); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Schedule sets when a todo is due from the text of delay, at or head_start.
func Schedule(n *queue.NewTodo, name, text string) error {
	if name == "at" {
		m, err := config.ParseMoment(text)
		if err != nil {
			return err
		}
		if m.At.IsZero() {
			back := -m.Back // by the server's clock, like every delay
			n.Delay = &back
			return nil
		}
		n.At = &m.At
		return nil
	}
	d, err := config.ParseDuration(text)
	if err != nil {
		return err
	}
	if d < 0 || d > 100*365*24*time.Hour {
		return todo.Errorf(todo.CodeData, "%s is out of range: 0 to 100 years", text)
	}
	if name == "head_start" {
		d = -d
	}
	n.Delay = &d
	return nil
}

// Event reads the raw delivery of a todo. An object of nothing but source, kind, external_id and
// payload, with a payload, is a whole event; anything else is the payload of one, whose source and
// kind are the todo's and whose external id is its key.
func Event(n *queue.NewTodo, raw json.RawMessage) (*queue.NewEvent, error) {
	e := &queue.NewEvent{Source: n.Source, Kind: n.Kind, ExternalID: n.Key, Payload: string(raw)}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members["payload"] == nil {
		return e, nil
	}
	for name := range members {
		if !slices.Contains([]string{"source", "kind", "external_id", "payload"}, name) {
			return e, nil
		}
	}
	e.Payload = string(members["payload"])
	for name, to := range map[string]*string{"source": &e.Source, "kind": &e.Kind} {
		if err := member(members, name, func(v json.RawMessage) error { return str(v, to) }); err != nil {
			return nil, err
		}
	}
	return e, member(members, "external_id", func(v json.RawMessage) error { return optionalStr(v, &e.ExternalID) })
}

// CheckTodo returns a data error unless the names and numbers of a todo are within their limits.
func CheckTodo(n *queue.NewTodo) error {
	if err := todo.CheckQueue(n.Queue); err != nil {
		if n.Queue == "" {
			return fmt.Errorf("no queue")
		}
		return err
	}
	if n.MaxAttempts < 1 || n.MaxAttempts > 1<<31-1 {
		return fmt.Errorf("max_attempts %d is out of range: 1 to %d", n.MaxAttempts, 1<<31-1)
	}
	for _, err := range []error{todo.CheckText("title", n.Title), todo.CheckText("kind", n.Kind), todo.CheckText("source", n.Source)} {
		if err != nil {
			return err
		}
	}
	if n.Key != nil {
		if err := todo.CheckKey(*n.Key); err != nil {
			return err
		}
	}
	if n.Assignee != nil {
		if err := todo.CheckOwner("assignee", *n.Assignee); err != nil {
			return err
		}
	}
	if n.Event != nil && n.Event.ExternalID != nil {
		if err := todo.CheckKey(*n.Event.ExternalID); err != nil {
			return fmt.Errorf("event: %w", err)
		}
	}
	return nil
}

func member(members map[string]json.RawMessage, name string, set func(json.RawMessage) error) error {
	raw, ok := members[name]
	if !ok || string(raw) == "null" && name != "payload" && name != "event" {
		return nil
	}
	if err := set(raw); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func str(raw json.RawMessage, to *string) error {
	if len(raw) == 0 || raw[0] != '"' {
		return fmt.Errorf("%s is not a string", clip(raw))
	}
	text, err := unquote(raw)
	*to = text
	return err
}

func optionalStr(raw json.RawMessage, to **string) error {
	var s string
	if err := str(raw, &s); err != nil {
		return err
	}
	*to = &s
	return nil
}

func number(raw json.RawMessage, to *int) error {
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		return fmt.Errorf("%s is not a whole number in range", clip(raw))
	}
	*to = n
	return nil
}

func clip(raw json.RawMessage) string {
	if len(raw) > 40 {
		return strings.ToValidUTF8(string(raw[:40]), "") + "…"
	}
	return string(raw)
}
