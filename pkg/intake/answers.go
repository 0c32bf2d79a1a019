package intake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/todoctl/todoctl/pkg/queue"
)

// What todoctl itself prints can be enqueued again: list -o jsonl and its kin. Such a line is told by its
// id, which no line written by hand has, since enqueue makes the ids. It may have every member of an
// answer; those that say what became of the old todo are passed over. A line without an id is held to
// the members of an enqueue, and a misspelt one is refused in both.

// printed says whether a line is an answer of todoctl.
func printed(members map[string]json.RawMessage) bool {
	return bytes.HasPrefix(members["id"], []byte(`"td_`))
}

// again leaves of a printed todo what a new one is made of: queue, kind, source, title, payload,
// idempotency_key, assignee, max_attempts and event_id. One that was delayed keeps its time, all others
// are due at once.
func (p parser) again(members map[string]json.RawMessage) error {
	if _, exported := members["history"]; exported {
		return fmt.Errorf("a todo with its history, as export and show print it; todoctl import reads it")
	}
	if err := onlyKnown(members, slices.Concat(Fields(), p.answers)); err != nil {
		return err
	}
	due, moment := members["run_at"], false
	var text string
	if json.Unmarshal(due, &text) == nil {
		moment = text != "infinity" && text != "-infinity"
	}
	scheduled := members["at"] != nil || members["delay"] != nil || members["head_start"] != nil
	if string(members["condition"]) == `"delayed"` && moment && !scheduled {
		members["at"] = due
	}
	known := Fields()
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return !slices.Contains(known, name) })
	return nil
}

// answerFields are the members of a todo in an answer.
func answerFields() []string {
	raw, err := json.Marshal(queue.Enqueued{})
	if err != nil {
		return nil
	}
	members, err := object(raw)
	if err != nil {
		return nil
	}
	return slices.Collect(maps.Keys(members))
}
