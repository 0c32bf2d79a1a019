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
}

// Pause stops claims from the given queues, for a while or until they are resumed. It holds for
// every claim that starts after it returned. Pausing a paused queue replaces until and reason.
func (c *Client) Pause(ctx context.Context, queues []string, length *time.Duration, by string, reason *string) ([]Paused, error) {
	var list []Paused
	err := c.run(ctx, repeats, func() []step {
		list = nil
		return []step{{name: "pause", args: pgx.StrictNamedArgs{"queues": unique(queues), "for": length, "by": by, "reason": reason},
			row: func(row pgx.CollectableRow) error {
				p := Paused{Paused: true, Changed: true}
				err := row.Scan(&p.Queue, &p.PausedAt, &p.PausedUntil, &p.PausedBy, &p.Reason)
				list = append(list, p)
				return err
			}}}
	})
	return list, err
}

// Resume lets claims take from the given queues again. One that is not paused is left as it is.
func (c *Client) Resume(ctx context.Context, queues []string) ([]Paused, error) {
	var list []Paused
	err := c.run(ctx, repeats, func() []step {
		list = nil
		for _, q := range unique(queues) {
			list = append(list, Paused{Queue: q})
		}
		return []step{{name: "resume", args: pgx.StrictNamedArgs{"queues": queues}, row: func(row pgx.CollectableRow) error {
			var queue string
			var was bool
			err := row.Scan(&queue, &was)
			for i := range list {
				if list[i].Queue == queue {
					list[i].Changed = was
				}
			}
			return err
		}}, notify(queues, nil)}
	})
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
