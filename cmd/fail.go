package cmd

import (
	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

const failHelp = `Say that the work on todos failed. Each waits out a backoff, 30s doubled with each attempt up to 15m (config
keys retry_base and retry_cap), and is a dead letter at its attempt cap, or at once with --dead. The error text
is made storable whatever it holds: a failure is always recorded. An operator ends anyone's lease with --force.`

const failExample = `  todoctl fail "$TODO_RECEIPT" --error 'smtp: 451 try again later'
  todoctl fail "$TODO_RECEIPT" --dead --error 'no such customer'`

func newFail(app *App) *cobra.Command {
	var text, file string
	var dead, force bool
	var retryIn durationFlag
	c := &cobra.Command{
		Use: "fail ID...", Short: "Say that the work failed: backoff, or a dead letter", Long: failHelp, Example: failExample,
		GroupID: groupWork, Args: cobra.MinimumNArgs(1), ValidArgsFunction: app.completeIDs,
		RunE: func(c *cobra.Command, args []string) error {
			result, err := app.resultFlag(c, args)
			if err != nil {
				return err
			}
			if file == "-" && (len(args) == 1 && args[0] == "-" || c.Flags().Lookup("result").Value.String() == "-") {
				return usagef("standard input can be read once: --error-file - excludes other uses of -")
			}
			if file != "" {
				if text, err = app.errorText(file); err != nil {
					return err
				}
			}
			p := queue.FailParams{Error: text, Result: result, RetryIn: retryIn.value, Dead: dead}
			return app.lease(c, "fail", args, force, func(q *queue.Client, l queue.LeaseParams) ([]queue.Result, error) {
				return q.Fail(c.Context(), l, p)
			})
		},
	}
	app.ownerFlag(c)
	f := c.Flags()
	f.StringVar(&text, "error", "", "what went wrong")
	f.StringVar(&file, "error-file", "", "read that from FILE, or - for standard input; what is too long is cut")
	f.String("result", "", "what came of it: JSON, @FILE or -")
	f.Var(&retryIn, "retry-in", "try again after so long, instead of the backoff")
	f.BoolVar(&dead, "dead", false, "a dead letter at once")
	f.BoolVar(&force, "force", false, "whoever holds the lease (for operators)")
	c.MarkFlagsMutuallyExclusive("error", "error-file")
	c.MarkFlagsMutuallyExclusive("dead", "retry-in")
	return exitStatus(c, database(todo.CodeConflict, todo.CodeNotFound, todo.CodeData, todo.CodePartial, todo.CodeUnknown)...)
}
