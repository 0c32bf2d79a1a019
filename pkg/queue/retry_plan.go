package queue

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Identity tells one database from another.
type Identity struct {
	System   string `json:"system_identifier"` // of the cluster
	Database string `json:"database"`
	Schema   string `json:"schema"`
}

// Identity says which database this is.
func (c *Client) Identity(ctx context.Context) (Identity, error) {
	var i Identity
	err := c.run(ctx, reads, func() []step {
		return []step{{name: "identity", row: func(row pgx.CollectableRow) error { return row.Scan(&i.System, &i.Database, &i.Schema) }}}
	})
	return i, err
}

// RetryPlan is a retry that is decided on and not done: its first part. The todos follow it.
type RetryPlan struct {
	Op          string          `json:"op"` // that it goes by in the journal, however often its work is taken up again
	Database    Identity        `json:"database"`
	Filter      json.RawMessage `json:"filter"`
	MaxAttempts *int            `json:"max_attempts"`
	Delay       string          `json:"delay"` // a duration
	Retrying    bool            `json:"retrying"`
	Reason      *string         `json:"reason"`
}

// PlannedTodo is a todo of a plan, as it was when the plan was made.
type PlannedTodo struct {
	ID        string    `json:"id"`
	LeaseSeq  int       `json:"lease_seq"`
	UpdatedAt todo.Time `json:"updated_at"`
}

// KindCount counts the todos of a queue and kind.
type KindCount struct {
	Queue string `json:"queue"`
	Kind  string `json:"kind"`
	Count int    `json:"count"`
}

// NewRetryPlan begins a plan for what a filter matches.
func (c *Client) NewRetryPlan(ctx context.Context, f Filter, p RetryParams) (RetryPlan, error) {
	o, err := newOp("retry", f.journal(), p.options(), p.Reason)
	if err != nil {
		return RetryPlan{}, err
	}
	i, err := c.Identity(ctx)
	return RetryPlan{Op: o.id, Database: i, Filter: json.RawMessage(*o.filter), MaxAttempts: p.MaxAttempts, Delay: p.Delay.String(),
		Retrying: p.Retrying, Reason: o.reason}, err
}

// Counts counts what a filter matches by queue and kind, the most first, and hands each todo to one, which may be nil. It
// changes nothing, and of memory it needs what the counts need.
func (c *Client) Counts(ctx context.Context, f Filter, scanned *Scanned, one func(PlannedTodo) error) ([]KindCount, error) {
	counts := map[KindCount]int{}
	for t, err := range c.List(ctx, f, Page{}, scanned) {
		if err != nil {
			return nil, err
		}
		counts[KindCount{Queue: t.Queue, Kind: t.Kind}]++
		if one != nil {
			if err := one(PlannedTodo{t.ID, t.LeaseSeq, t.UpdatedAt}); err != nil {
				return nil, err
			}
		}
	}
	list := []KindCount{}
	for k := range maps.Keys(counts) {
		list = append(list, KindCount{k.Queue, k.Kind, counts[k]})
	}
	slices.SortFunc(list, func(a, b KindCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Kind, b.Kind))
	})
	return list, nil
}
