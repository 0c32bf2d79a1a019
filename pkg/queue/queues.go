package queue

import (
	"context"
	"math"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Counts is one queue in numbers. Done todos are not counted: no index holds them by queue alone.
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
	LiveEstimated        bool      `json:"live_estimated"` // pending, delayed, claimed, expired and retrying are: too many were live to look at each
	DeadEstimated        bool      `json:"dead_estimated"`
}

// Exactly is how many todos of a queue are counted where nothing is to be estimated.
const Exactly = math.MaxInt32

// Queues counts the given queues, or all that are known, in order of their names. On large tables only so many todos of each are
// looked at, and the rest estimated from the server's statistics; of each queue at least the first least are counted: Exactly
// counts all.
func (c *Client) Queues(ctx context.Context, only []string, least int) ([]Counts, error) {
	x := census{only: only}
	err := c.run(ctx, reads, func() []step {
		x.reset()
		return x.steps(least)
	})
	return x.counts(), err
}
