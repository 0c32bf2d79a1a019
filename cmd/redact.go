package cmd

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

// secretKeys are the keys of payloads, results and events whose values show, list and the like take out of
// every form of their answers. Workers get what was enqueued, and export takes out what its --redact says.
func (a *App) secretKeys() ([]string, error) { return a.Config.Strings("redact") }

// namedIn says whether a key is one of these, in upper or lower case.
func namedIn(keys []string, key string) bool {
	return slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, key) })
}

// redactText is for a part of a payload that was read as text.
func redactText(s *string, keys []string) {
	if s != nil {
		*s = string(render.Redact(json.RawMessage(*s), keys))
	}
}

func redactTodo(t *todo.Todo, keys []string) {
	t.Payload = render.Redact(t.Payload, keys)
	redactResult(&t.Result, keys)
}

func redactResult(raw **json.RawMessage, keys []string) {
	if *raw != nil {
		clean := render.Redact(**raw, keys)
		*raw = &clean
	}
}

func redactEvent(e **todo.Event, keys []string) {
	if *e != nil {
		clean := **e
		clean.Payload = render.Redact(clean.Payload, keys)
		*e = &clean
	}
}

// redactShown takes the values of keys out of all that came from outside.
func redactShown(s *queue.Shown, keys []string) {
	redactTodo(&s.Todo, keys)
	for i := range s.History {
		redactResult(&s.History[i].Result, keys)
	}
	redactEvent(&s.Event, keys)
}

func redactWhole(s *queue.Whole, keys []string) {
	redactTodo(&s.Todo, keys)
	for i := range s.History {
		redactResult(&s.History[i].Result, keys)
	}
	redactEvent(&s.Event, keys)
}

// redactEntry takes them out of the payload that a verb's filter asked for.
func redactEntry(e *queue.Entry, keys []string) {
	var filter map[string]json.RawMessage
	var payload string
	if len(keys) == 0 || json.Unmarshal(e.Filter, &filter) != nil || json.Unmarshal(filter["payload"], &payload) != nil {
		return
	}
	redactText(&payload, keys)
	text, err := json.Marshal(payload)
	if err == nil {
		filter["payload"] = text
		text, err = json.Marshal(filter)
	}
	if err == nil {
		e.Filter = text
	}
}
