package cmd

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
)

const crashesHelp = `Tell leases that ran out apart from failures: a worker that fails says so, one that dies does not. Judged over
a window, with the evidence and the next command:

  poison     a todo of which 3 leases or more ran out under 2 owners or more, and which never failed in order
  sick-host  a host that lost over half of 5 leases or more, while every other host lost under a tenth

The host is what follows the @ in the name of an owner. A lease that ran out and was not reaped yet counts. The
newest 100,000 leases that were completed and that ended otherwise are read (--scan-limit); where the window holds
more, it is cut short and the answer says so.`

const crashesExample = `  todoctl crashes
  todoctl crashes -q mail --window 1h --jq '.findings[].command'`

// crashesLimit is how many leases are read where --scan-limit does not say.
const crashesLimit = 100_000

func newCrashes(app *App) *cobra.Command {
	window := durationFlag{min: time.Second}
	var scan scanLimit
	c := &cobra.Command{
		Use: "crashes", Short: "Tell poison and sick hosts from the leases that ran out", Long: crashesHelp, Example: crashesExample,
		GroupID: groupInspect, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			shape := render.Shape{Fields: render.FieldsOf(queue.Crashes{}), TSV: []string{"leases", "completed", "failed", "released", "expired"}}
			if err := app.Check(shape); err != nil {
				return err
			}
			limit, err := scan.limit()
			if err != nil {
				return err
			}
			q, err := app.Queue(c.Context(), "crashes")
			if err != nil {
				return err
			}
			r, err := q.Crashes(c.Context(), c.Flags().Lookup("queue").Value.(*listFlag).values, window.or(24*time.Hour), limit)
			if err != nil {
				return err
			}
			if r.Estimated {
				app.Warn("~ read %d leases (--scan-limit), which reach back to %s", limit, r.Since)
			}
			if len(r.Findings) == 0 {
				app.Note("neither a poisonous todo nor a sick host")
			}
			return app.Print(shape, zero(), r)
		},
	}
	app.queueFlag(c, true)
	c.Flags().Var(&window, "window", "how far to look back (default 24h)")
	scan.flags(c, crashesLimit, "leases to read at most", "read all leases of the window, however many")
	return exitStatus(c, database()...)
}
