package queue

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Shown is a todo with what is kept beside it.
type Shown struct {
	todo.Todo
	History []todo.Attempt `json:"history"`
	Event   *todo.Event    `json:"event"`
}

// Show reads one todo with its history and its event.
func (c *Client) Show(ctx context.Context, id string) (Shown, error) {
	var s Shown
	var found []todo.Todo
	err := c.run(ctx, reads, func() []step {
		found, s.History = nil, []todo.Attempt{}
		return []step{
			{name: "show", args: pgx.StrictNamedArgs{"ids": []string{id}}, row: collect(&found)},
			{name: "attempts", args: pgx.StrictNamedArgs{"id": id}, row: func(row pgx.CollectableRow) error {
				var a todo.Attempt
				var result *string
				err := row.Scan(&a.LeaseSeq, &a.Attempt, &a.Owner, &a.ClaimedAt, &a.EndedAt, &a.Outcome, &a.Error, &result)
				if result != nil {
					raw := json.RawMessage(*result)
					a.Result = &raw
				}
				s.History = append(s.History, a)
				return err
			}},
		}
	})
	if err != nil {
		return s, err
	}
	if len(found) == 0 {
		return s, notFound(id)
	}
	s.Todo = found[0]
	if s.EventID == nil {
		return s, nil
	}
	err = c.run(ctx, reads, func() []step {
		return []step{{name: "event", args: pgx.StrictNamedArgs{"id": *s.EventID}, row: func(row pgx.CollectableRow) error {
			var e todo.Event
			var payload string
			err := row.Scan(&e.ID, &e.Source, &e.Kind, &e.ExternalID, &payload, &e.ReceivedAt)
			e.Payload = json.RawMessage(payload)
			s.Event = &e
			return err
		}}}
	})
	return s, err
}
