package cmd

import (
	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
)

const queuesHelp = `Count, for each queue, its live todos by condition and its dead letters, and tell the age in seconds of the
oldest that could be claimed, and whether the queue is paused. Done todos are not counted.`

const queuesExample = `  todoctl queues
  todoctl queues -q mail --jq '.[].dead'`

func newQueues(app *App) *cobra.Command {
	c := &cobra.Command{
		Use: "queues", Short: "Count the todos of each queue by condition", Long: queuesHelp, Example: queuesExample,
		GroupID: groupInspect, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			shape := render.Shape{Many: true, Fields: render.FieldsOf(queue.Counts{}), ID: "queue",
				Table: []string{"queue", "pending", "delayed", "claimed", "expired", "retrying", "dead", "oldest_seconds:OLDEST", "paused"},
				TSV:   []string{"queue", "pending", "delayed", "claimed", "expired", "retrying", "dead", "oldest_seconds", "paused"}}
			if err := app.Check(shape); err != nil {
				return err
			}
			q, err := app.Queue(c.Context(), "queues")
			if err != nil {
				return err
			}
			list, err := q.Queues(c.Context(), c.Flags().Lookup("queue").Value.(*listFlag).values)
			if err != nil {
				return err
			}
			rows := make([]any, len(list))
			for i, r := range list {
				rows[i] = r
			}
			return app.Print(shape, zero(), rows...)
		},
	}
	app.queueFlag(c, true)
	return exitStatus(c, database()...)
}
