package cmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

const bumpHelp = `Move pending and delayed todos forward in their queue: earlier by a duration, or to the front. By id, or by
filter after asking.`

const bumpExample = `  todoctl bump "$TODO_ID" --front
  todoctl bump -q mail --kind password-reset --by 1h --yes`

func newBump(app *App) *cobra.Command {
	var by durationFlag
	by.min = time.Microsecond
	var front bool
	var reason textFlag
	s := &sweep{verb: "bump", past: "bumped", standard: []todo.Condition{todo.IsPending, todo.IsDelayed}}
	c := &cobra.Command{
		Use: "bump [ID...]", Short: "Move pending todos forward in their queue", Long: bumpHelp, Example: bumpExample,
		GroupID: groupOperate, Args: cobra.ArbitraryArgs, ValidArgsFunction: app.completeIDs,
		RunE: func(c *cobra.Command, args []string) error {
			if by.value == nil && !front {
				return usagef("say how far: --by DURATION or --front")
			}
			p := queue.BumpParams{By: by.or(0), Front: front, Reason: reason.value}
			s.named = func(ctx context.Context, q *queue.Client, ids []string) ([]queue.Result, error) {
				return q.Bump(ctx, ids, p)
			}
			s.matched = func(ctx context.Context, q *queue.Client, f queue.Filter, progress func(queue.Sweep)) (queue.Sweep, error) {
				return q.BumpAll(ctx, f, p, progress)
			}
			return s.run(c, app, args)
		},
	}
	s.filters = app.filterFlags(c, true)
	s.flags(c)
	c.Flags().Var(&by, "by", "earlier by so long")
	c.Flags().BoolVar(&front, "front", false, "before everything else in their queue")
	c.Flags().Var(&reason, "reason", "why, for the journal")
	c.MarkFlagsMutuallyExclusive("by", "front")
	return exitStatus(c, database(todo.CodeConflict, todo.CodeNotFound, todo.CodeData, todo.CodePartial, todo.CodeUnknown)...)
}
