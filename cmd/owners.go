package cmd

import (
	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
)

const ownersHelp = `List who holds leases, whose ends next first: how many run and how many ran out unreaped, in which queues, the
last trace (a claim, a renewal or a report of progress), and when the next lease ends and of which todo.

Leases are in no index of their own: those that end next and those that ran out last are found among the delayed
and pending todos of their queues, of which up to --scan-limit are read. Where that is met there may be more: the
numbers are marked with ~, unless --exact reads all.`

const ownersExample = `  todoctl owners
  todoctl owners -q mail --jq '.[] | select(.expired > 0) | .owner'`

// ownersLimit is how many todos are read where --scan-limit does not say: each is a visit to the table, mostly to another page.
const ownersLimit = 4000

// holderLine is what people see of an owner.
type holderLine struct {
	queue.Holder
	Leases  string `json:"leases"`
	Expired string `json:"expired"`
}

func newOwners(app *App) *cobra.Command {
	var scan scanLimit
	c := &cobra.Command{
		Use: "owners", Short: "List who holds what, and whose lease ends next", Long: ownersHelp, Example: ownersExample,
		GroupID: groupInspect, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			shape := render.Shape{Many: true, Fields: render.FieldsOf(queue.Holder{}), ID: "owner",
				Table: []string{"owner", "leases", "expired", "queues?", "last", "until:NEXT END", "next_id?"},
				TSV:   []string{"owner", "leases", "expired", "last", "until", "next_id"}}
			if err := app.Check(shape); err != nil {
				return err
			}
			limit, err := scan.limit()
			if err != nil {
				return err
			}
			q, err := app.Queue(c.Context(), "owners")
			if err != nil {
				return err
			}
			list, short, err := q.Owners(c.Context(), c.Flags().Lookup("queue").Value.(*listFlag).values, limit)
			if err != nil {
				return err
			}
			var rows []any
			for _, h := range list {
				if app.table() {
					rows = append(rows, holderLine{h, estimate(h.Leases, h.Estimated), estimate(h.Expired, h.Estimated)})
					continue
				}
				rows = append(rows, h)
			}
			if short {
				app.Warn("~ read about %d todos (--scan-limit); there may be more leases", limit)
			}
			return app.Print(shape, zero(), rows...)
		},
	}
	app.queueFlag(c, true)
	scan.flags(c, ownersLimit, "todos to read at most", "read all, however many")
	return exitStatus(c, database()...)
}
