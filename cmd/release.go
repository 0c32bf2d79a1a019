package cmd

import (
	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

const releaseHelp = `Give todos back unfinished. The attempt is not spent, and each keeps its old place in the queue, unless
--delay moves it. An operator takes a todo from anyone with --force.`

const releaseExample = `  todoctl release "$TODO_RECEIPT"
  todoctl release "$TODO_RECEIPT" --delay 10m --error 'the mail server is down'`

func newRelease(app *App) *cobra.Command {
	var delay durationFlag
	var text textFlag
	var force bool
	c := &cobra.Command{
		Use: "release ID...", Short: "Give todos back without spending the attempt", Long: releaseHelp, Example: releaseExample,
		GroupID: groupWork, Args: cobra.MinimumNArgs(1), ValidArgsFunction: app.completeIDs,
		RunE: func(c *cobra.Command, args []string) error {
			return app.lease(c, "release", args, force, func(q *queue.Client, p queue.LeaseParams) ([]queue.Result, error) {
				return q.Release(c.Context(), p, delay.value, text.value)
			})
		},
	}
	app.ownerFlag(c)
	f := c.Flags()
	f.Var(&delay, "delay", "not to be claimed again before so long from now")
	f.Var(&text, "error", "why, for the history")
	f.BoolVar(&force, "force", false, "whoever holds the lease (for operators)")
	return exitStatus(c, database(todo.CodeConflict, todo.CodeNotFound, todo.CodeData, todo.CodePartial, todo.CodeUnknown)...)
}
