package queue

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// whyEmpty explains an empty claim: the reason that names the least effort comes first.
func (c *Client) whyEmpty(ctx context.Context, p ClaimParams) error {
	var paused, delayed, assigned, unknown []string
	var next todo.Time
	err := c.run(ctx, reads, func() []step {
		paused, delayed, assigned, unknown, next = nil, nil, nil, nil, todo.Time{}
		return []step{{name: "claim_reason", args: pgx.StrictNamedArgs{"queues": p.Queues, "owner": p.Owner},
			row: func(row pgx.CollectableRow) error {
				var queue string
				var isPaused, isAssigned, isKnown bool
				var at todo.Time
				err := row.Scan(&queue, &isPaused, &at, &isAssigned, &isKnown)
				switch {
				case isPaused:
					paused = append(paused, queue)
				case isAssigned:
					assigned = append(assigned, queue)
				case !at.IsNull():
					delayed = append(delayed, queue)
					if v, ok := next.Time(); !ok || !at.After(v) {
						next = at
					}
				case !isKnown:
					unknown = append(unknown, queue)
				}
				return err
			}}}
	})
	if err != nil {
		return err
	}
	name := func(list []string) string { return "queue " + strings.Join(list, ", ") }
	empty := func(reason, text, hint string) *todo.Error {
		e := todo.Errorf(todo.CodeEmpty, "nothing to claim: %s", text).With("reason", reason)
		e.Hint = hint
		return e
	}
	switch {
	case len(paused) > 0:
		return empty("paused", name(paused)+" is paused", "todoctl resume "+strings.Join(paused, " "))
	case len(delayed) > 0:
		return empty("delayed", fmt.Sprintf("%s waits until %s", name(delayed), next), "todoctl bump moves a delayed todo forward").
			With("next_at", next)
	case len(assigned) > 0:
		return empty("assigned", name(assigned)+" has only todos that are assigned to others",
			"todoctl list -q "+strings.Join(assigned, ",")+" shows to whom")
	case len(unknown) > 0 && len(unknown) == len(p.Queues):
		return empty("unknown-queue", name(unknown)+" is not known", "todoctl queues lists the queues there are")
	}
	return empty("none", name(p.Queues)+" has none", "todoctl queues shows what is leased and what waits")
}
