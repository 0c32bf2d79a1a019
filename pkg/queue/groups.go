package queue

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Group is dead letters that have what was asked for in common. What was not asked for is null.
type Group struct {
	Fingerprint *string   `json:"fingerprint"`
	Kind        *string   `json:"kind"`
	Queue       *string   `json:"queue"`
	Value       *string   `json:"value"` // of the payload at the path
	Count       int64     `json:"count"`
	Queues      []string  `json:"queues"`
	Kinds       []string  `json:"kinds"`
	First       todo.Time `json:"first"` // when the first of them died
	Last        todo.Time `json:"last"`
	Attempts    int64     `json:"attempts"`
	Sample      *string   `json:"sample"` // the error of the newest todo, its beginning
}

// GroupBy says what the members of a group have in common.
type GroupBy struct {
	Error, Kind, Queue bool
	Path               []string // into the payload; nil is none
}

// Groups counts the dead letters that a filter matches by what they have in common, the most first.
func (c *Client) Groups(ctx context.Context, f Filter, by GroupBy, limit int) ([]Group, error) {
	args := f.args("", 0, false)
	for _, name := range []string{"after", "page", "bodies", "live", "dead", "conditions"} {
		delete(args, name)
	}
	args["by_error"], args["by_kind"], args["by_queue"], args["path"], args["groups"] = by.Error, by.Kind, by.Queue, orNull(by.Path), limit
	var list []Group
	err := c.run(ctx, reads, func() []step {
		list = nil
		return []step{{name: "dead_letters_groups", args: args, row: func(row pgx.CollectableRow) error {
			var g Group
			err := row.Scan(&g.Fingerprint, &g.Kind, &g.Queue, &g.Value, &g.Count, &g.Queues, &g.Kinds, &g.First, &g.Last, &g.Attempts, &g.Sample)
			list = append(list, g)
			return err
		}}}
	})
	return list, err
}
