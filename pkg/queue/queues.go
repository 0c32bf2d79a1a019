package queue

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Counts is one queue in numbers. Done todos are not counted: no index holds them.
type Counts struct {
	Queue                string    `json:"queue"`
	Pending              int64     `json:"pending"`
	Delayed              int64     `json:"delayed"`
	Claimed              int64     `json:"claimed"`
	Expired              int64     `json:"expired"`
	Retrying             int64     `json:"retrying"`
	Dead                 int64     `json:"dead"`
	OldestSeconds        *float64  `json:"oldest_seconds"`               // age of the oldest claimable todo
	OldestExpiredSeconds *float64  `json:"oldest_expired_lease_seconds"` // since when a lapsed lease waits for claim or reap
	Paused               bool      `json:"paused"`
	PausedUntil          todo.Time `json:"paused_until"`
	PausedBy             *string   `json:"paused_by"`
	Reason               *string   `json:"reason"`
}

// Queues counts the given queues, or all that are known, in order of their names.
func (c *Client) Queues(ctx context.Context, only []string) ([]Counts, error) {
	var list []Counts
	err := c.run(ctx, reads, func() []step {
		list = nil
		return []step{{name: "queues", args: pgx.StrictNamedArgs{"queues": orNull(only)}, row: func(row pgx.CollectableRow) error {
			var q Counts
			var paused *bool
			err := row.Scan(&q.Queue, &q.Pending, &q.Delayed, &q.Claimed, &q.Expired, &q.Retrying, &q.Dead,
				&q.OldestSeconds, &q.OldestExpiredSeconds, &paused, &q.PausedUntil, &q.PausedBy, &q.Reason)
			q.Paused = paused != nil && *paused
			list = append(list, q)
			return err
		}}}
	})
	slices.SortFunc(list, func(a, b Counts) int { return strings.Compare(a.Queue, b.Queue) })
	return list, err
}
