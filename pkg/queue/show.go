package queue

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Shown is a todo with what is stored beside it: its event, and the leases that ended otherwise than in completion.
type Shown struct {
	todo.Todo
	History []todo.Attempt `json:"history"`
	Event   *todo.Event    `json:"event"`
}

// Whole is a todo with its event and every lease that it has had and that has ended.
type Whole struct {
	todo.Todo
	History []Lease     `json:"history"`
	Event   *todo.Event `json:"event"`
}

// Lease is one lease that has ended: as its row of history says, or completed.
type Lease struct {
	todo.Attempt
	HeldSeconds *float64 `json:"held_seconds"` // from claim to end; null where the claim is not known
}

// completed is the outcome of the lease that no history is written for: the todo's own row tells of it.
const completed = "completed"

func held(a todo.Attempt) Lease {
	l := Lease{Attempt: a}
	if from, ok := a.ClaimedAt.Time(); ok {
		if to, ended := a.EndedAt.Time(); ended {
			seconds := to.Sub(from).Seconds()
			l.HeldSeconds = &seconds
		}
	}
	return l
}

// Show reads one todo with its leases and its event.
func (c *Client) Show(ctx context.Context, id string) (Whole, error) {
	var s Whole
	var found []todo.Todo
	err := c.run(ctx, reads, func() []step {
		found, s.History = nil, []Lease{}
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
				s.History = append(s.History, held(a))
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
	if t := s.Todo; t.State == todo.Done && t.LeaseSeq > 0 {
		s.History = append(s.History, held(todo.Attempt{LeaseSeq: t.LeaseSeq, Attempt: t.Attempt, Owner: t.Owner, ClaimedAt: t.ClaimedAt,
			EndedAt: t.CompletedAt, Outcome: completed, Result: t.Result}))
	}
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
