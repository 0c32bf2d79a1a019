package cmd

import (
	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

const completeHelp = `Acknowledge todos that you hold, by receipt or by bare id and owner. Repeating it with the same receipt
succeeds and says so. A refusal (exit 4) says that the lease is lost and whose it is now.`

const completeExample = `  todoctl complete "$TODO_RECEIPT" --result '{"sent":true}'
  todoctl claim -q mail -n 2 -o receipt | todoctl complete -`

func newComplete(app *App) *cobra.Command {
	c := &cobra.Command{
		Use: "complete ID...", Short: "Acknowledge todos that you hold", Long: completeHelp, Example: completeExample,
		GroupID: groupWork, Args: cobra.MinimumNArgs(1), ValidArgsFunction: app.completeIDs,
		RunE: func(c *cobra.Command, args []string) error {
			result, err := app.resultFlag(c, args)
			if err != nil {
				return err
			}
			return app.lease(c, "complete", args, false, func(q *queue.Client, p queue.LeaseParams) ([]queue.Result, error) {
				return q.Complete(c.Context(), p, result)
			})
		},
	}
	app.ownerFlag(c)
	c.Flags().String("result", "", "what came of it: JSON, @FILE or -")
	return exitStatus(c, database(todo.CodeConflict, todo.CodeNotFound, todo.CodeData, todo.CodePartial, todo.CodeUnknown)...)
}
