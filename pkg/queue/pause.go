package queue

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Paused is what is said about a queue.
type Paused struct {
	Queue       string    `json:"queue"`
	Paused      bool      `json:"paused"`
	PausedAt    todo.Time `json:"paused_at"`
	PausedUntil todo.Time `json:"paused_until"` // null: until it is resumed
	PausedBy    *string   `json:"paused_by"`
	Reason      *string   `json:"reason"`
	Changed     bool      `json:"changed"`
	Op          *string   `json:"op"` // in the journal; null where nothing was changed
}

// Pause stops claims from the given queues, for a while or until they are resumed. It holds for
// every claim that starts after it returned. Pausing a paused queue replaces until and reason.
func (c *Client) Pause(ctx context.Context, queues []string, length *time.Duration, by string, reason *string) ([]Paused, error) {
	options := map[string]any{}
	if length != nil {
		options["for"] = length.String()
	}
	o, err := newOp("pause", nil, options, reason)
	if err != nil {
		return nil, err
	}
	var list []Paused
	err = c.run(ctx, repeats, func() []step {
		list = nil
		return []step{{name: "pause", args: pgx.StrictNamedArgs{"op": o.id, "queues": unique(queues), "for": length, "by": by, "reason": reason},
			row: func(row pgx.CollectableRow) error {
				p := Paused{Paused: true, Changed: true, Op: &o.id}
				err := row.Scan(&p.Queue, &p.PausedAt, &p.PausedUntil, &p.PausedBy, &p.Reason)
				list = append(list, p)
				return err
			}}, c.entry(o, nil, nil)}
	})
	c.dropImages(ctx, 1)
	return list, err
}

// Resume lets claims take from the given queues again. One that is not paused is left as it is.
// reason is for the journal.
func (c *Client) Resume(ctx context.Context, queues []string, reason *string) ([]Paused, error) {
	o, err := newOp("resume", nil, nil, reason)
	if err != nil {
		return nil, err
	}
	var list []Paused
	err = c.run(ctx, repeats, func() []step {
		list = nil
		for _, q := range unique(queues) {
			list = append(list, Paused{Queue: q})
		}
		return []step{{name: "resume", args: pgx.StrictNamedArgs{"op": o.id, "queues": queues}, row: func(row pgx.CollectableRow) error {
			var queue string
			var was bool
			err := row.Scan(&queue, &was)
			for i := range list {
				if list[i].Queue == queue {
					if list[i].Changed = was; was {
						list[i].Op = &o.id
					}
				}
			}
			return err
		}}, c.entry(o, nil, nil), notify(queues, nil)}
	})
	c.dropImages(ctx, 1)
	return list, err
}

// Running lists the leases that still run in the given queues.
func (c *Client) Running(ctx context.Context, queues []string) ([]todo.Todo, error) {
	var list []todo.Todo
	err := c.run(ctx, reads, func() []step {
		list = nil
		return []step{{name: "pause_running", args: pgx.StrictNamedArgs{"queues": queues}, row: collect(&list)}}
	})
	return list, err
}

func unique(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
