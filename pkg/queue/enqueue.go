package queue

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// DefaultMaxAttempts is the attempt cap of a todo that names none.
const DefaultMaxAttempts = 5

// NewTodo is a todo to be made. Payload and Event are JSON text: it goes to the server as it came,
// so that no digit is lost.
type NewTodo struct {
	Line        int    // of the input, from 1; 0 where there is none
	Raw         string // the line as it came, where it is wanted back if the server finds it bad
	Queue       string
	Kind        string
	Source      string
	Title       string
	Payload     string
	Key         *string
	Assignee    *string
	MaxAttempts int
	At          *time.Time     // due then
	Delay       *time.Duration // due so much after the enqueue; negative for a head start
	EventID     *string        // an event that is there
	Event       *NewEvent      // or one to be stored with it
}

// NewEvent is the record of a delivery, to be stored with its todo. A redelivery, with the same
// source and external id, finds the first.
type NewEvent struct {
	Source     string
	Kind       string
	ExternalID *string
	Payload    string
}

// Enqueued is a todo and whether this enqueue made it.
type Enqueued struct {
	todo.Todo
	Created bool `json:"created"`
}

// NewID returns a fresh id with the given prefix: a UUIDv7, so that ids sort as they were made.
func NewID(prefix string) (string, error) {
	id, err := uuid.NewV7()
	return prefix + id.String(), err
}

// Enqueue makes a todo, or returns the live one that has its key. An event id that names no event is a data error.
func (c *Client) Enqueue(ctx context.Context, n NewTodo) (Enqueued, error) {
	var created, live []todo.Todo
	a := writes
	if n.Key != nil {
		a = repeats // the key makes a second try find the first
	}
	id, err := NewID("td_")
	if err != nil {
		return Enqueued{}, err
	}
	before, err := n.before()
	if err != nil {
		return Enqueued{}, err
	}
	for try := 0; try < attempts; try++ {
		err := c.run(ctx, a, func() []step {
			created, live = nil, nil
			list := append(before[:len(before):len(before)], step{name: "enqueue", args: n.args(id), row: collect(&created)})
			if n.Key != nil {
				list = append(list, step{name: "enqueue_live", args: pgx.StrictNamedArgs{"queue": n.Queue, "key": *n.Key}, row: collect(&live)})
			}
			return list
		})
		switch {
		case err != nil:
			return Enqueued{}, eventError(err)
		case len(created) == 1:
			return Enqueued{created[0], true}, nil
		case len(live) == 1:
			// After a lost answer the first try's own todo is what the second finds.
			return Enqueued{live[0], live[0].ID == id}, nil
		}
		// The live one ended between the two statements: there is room now.
	}
	return Enqueued{}, todo.Errorf(todo.CodeUnavailable, "the todos of key %q come and go too quickly", *n.Key).WithHint("run the same command again")
}

// before returns what must come before the todo: its event, where one is to be stored.
func (n *NewTodo) before() ([]step, error) {
	if n.Event == nil {
		return nil, nil
	}
	id, err := NewID("ev_")
	if err != nil {
		return nil, err
	}
	n.EventID = &id
	return []step{{name: "enqueue_event", args: pgx.StrictNamedArgs{"event_id": id, "source": n.Event.Source, "kind": n.Event.Kind,
		"external_id": n.Event.ExternalID, "payload": n.Event.Payload}}}, nil
}

func (n *NewTodo) args(id string) pgx.StrictNamedArgs {
	var source, external *string
	if n.Event != nil {
		source, external = &n.Event.Source, n.Event.ExternalID
	}
	return pgx.StrictNamedArgs{"id": id, "queue": n.Queue, "source": n.Source, "kind": n.Kind, "title": n.Title, "payload": n.Payload,
		"event_source": source, "external_id": external, "event_id": n.EventID, "key": n.Key, "assignee": n.Assignee,
		"max_attempts": n.MaxAttempts, "at": n.At, "delay": n.Delay}
}
