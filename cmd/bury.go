package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

const buryHelp = `Make dead letters of todos that nobody is at work on: pending, delayed, retrying or expired ones, by id or
by filter after asking. Leased ones only with --force; their holders meet a conflict then. Neither an
attempt nor a lease is counted.`

const buryExample = `  todoctl bury "$TODO_ID" --reason 'customer left'
  todoctl bury -q mail --kind newsletter --reason 'wrong template' --yes`

func newBury(app *App) *cobra.Command {
	var reason textFlag
	var force bool
	s := &sweep{verb: "bury", past: "buried"}
	c := &cobra.Command{
		Use: "bury [ID...]", Short: "Make dead letters of todos that nobody works on", Long: buryHelp, Example: buryExample,
		GroupID: groupOperate, Args: cobra.ArbitraryArgs, ValidArgsFunction: app.completeIDs,
		RunE: func(c *cobra.Command, args []string) error {
			p := queue.BuryParams{Reason: reason.value, Force: force}
			s.standard = []todo.Condition{todo.IsPending, todo.IsDelayed, todo.IsRetrying, todo.IsExpired}
			if force {
				s.standard = live()
			}
			s.named = func(ctx context.Context, q *queue.Client, ids []string) ([]queue.Result, error) {
				return q.Bury(ctx, ids, p)
			}
			s.matched = func(ctx context.Context, q *queue.Client, f queue.Filter, progress func(queue.Sweep)) (queue.Sweep, error) {
				return q.BuryAll(ctx, f, p, progress)
			}
			return s.run(c, app, args)
		},
	}
	s.filters = app.filterFlags(c, true)
	s.flags(c)
	c.Flags().Var(&reason, "reason", "why; it becomes the error text")
	c.Flags().BoolVar(&force, "force", false, "leased ones too, whoever holds them")
	return exitStatus(c, database(todo.CodeConflict, todo.CodeNotFound, todo.CodeData, todo.CodePartial, todo.CodeUnknown)...)
}
