package cmd

import (
	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
)

const leasesHelp = `What leases need. See leases advise.`

const leasesExample = `  todoctl leases advise
  todoctl leases advise -q mail -o json`

const adviseHelp = `Advise, from the history of each queue, how long its leases should be and how often to reap: how long the work
of the newest 10,000 todos took, and how many leases ran out. A worker that renews (todoctl work) may use less.`

const adviseExample = `  todoctl leases advise
  todoctl leases advise -q mail --jq '.[].ttl'`

func newLeases(app *App) *cobra.Command {
	c := &cobra.Command{
		Use: "leases", Short: "What leases need", Long: leasesHelp, Example: leasesExample, GroupID: groupInspect,
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			return usagef("leases: no subcommand").WithHint("todoctl leases advise")
		},
	}
	c.AddCommand(newAdvise(app))
	return exitStatus(c)
}

func newAdvise(app *App) *cobra.Command {
	c := &cobra.Command{
		Use: "advise", Short: "Advise a ttl and a cadence for reap from history", Long: adviseHelp, Example: adviseExample,
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			shape := render.Shape{Many: true, Fields: render.FieldsOf(queue.Advice{}), ID: "queue",
				Table: []string{"queue", "leases", "p99_seconds:P99", "expired", "ttl", "reap_every:REAP", "why"},
				TSV:   []string{"queue", "ttl", "reap_every", "leases", "p50_seconds", "p99_seconds", "longest_seconds", "expired"}}
			if err := app.Check(shape); err != nil {
				return err
			}
			q, err := app.Queue(c.Context(), "leases")
			if err != nil {
				return err
			}
			list, err := q.Advise(c.Context(), c.Flags().Lookup("queue").Value.(*listFlag).values)
			if err != nil {
				return err
			}
			rows := make([]any, len(list))
			for i, a := range list {
				rows[i] = a
			}
			return app.Print(shape, zero(), rows...)
		},
	}
	app.queueFlag(c, true)
	return exitStatus(c, database()...)
}
