package cmd

import (
	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

const heartbeatHelp = `Extend leases to --ttl from now, by receipt or by bare id and owner. A lease that ran out but that
nobody took is extended too. A refusal (exit 4) says that the lease is lost and whose it is: stop working.`

const heartbeatExample = `  todoctl heartbeat "$TODO_RECEIPT" --ttl 5m
  todoctl claim -q mail -n 2 -o receipt | todoctl heartbeat - --ttl 10m`

func newHeartbeat(app *App) *cobra.Command {
	c := &cobra.Command{
		Use: "heartbeat ID...", Short: "Extend leases that you hold", Long: heartbeatHelp, Example: heartbeatExample,
		GroupID: groupWork, Args: cobra.MinimumNArgs(1), ValidArgsFunction: app.completeIDs,
		RunE: func(c *cobra.Command, args []string) error {
			ttl, err := app.Config.Duration("ttl")
			if err != nil {
				return err
			}
			return app.lease(c, "heartbeat", args, false, func(q *queue.Client, p queue.LeaseParams) ([]queue.Result, error) {
				return q.Heartbeat(c.Context(), p, ttl)
			})
		},
	}
	app.ownerFlag(c)
	c.Flags().String("ttl", "", "length of the lease from now, 1s to 7d (default 5m)")
	return exitStatus(c, database(todo.CodeConflict, todo.CodeNotFound, todo.CodeData, todo.CodePartial, todo.CodeUnknown)...)
}
