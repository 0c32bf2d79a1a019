package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const pruneHelp = `Delete done todos that ended longer ago than --older-than, with their history, page by page: what is done
stays done when a run ends early. --state dead or --state done,dead takes dead letters too. --keep spares the
newest so many of each queue and state. Stored events that no todo refers to any more go as well, and rows of the journal
older than keep_journal in the configuration says, 365 days.`

const pruneExample = `  todoctl prune --older-than 30d --yes
  todoctl prune --older-than 7d --keep 1000 --state done,dead --dry-run`

func newPrune(app *App) *cobra.Command {
	var older durationFlag
	var state listFlag
	var keep int
	var reason textFlag
	var dryRun, all bool
	state.check = func(s string) error {
		if s != string(todo.IsDone) && s != string(todo.IsDead) {
			return fmt.Errorf("retention takes done and dead todos, not %s", s)
		}
		return nil
	}
	c := &cobra.Command{
		Use: "prune", Short: "Delete old done and dead todos", Long: pruneHelp, Example: pruneExample,
		GroupID: groupOperate, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			p := queue.PruneParams{OlderThan: older.or(0), Keep: keep, DryRun: dryRun, Reason: reason.value, States: []todo.Condition{todo.IsDone},
				Queues: c.Flags().Lookup("queue").Value.(*listFlag).values}
			switch {
			case keep < 0:
				return usagef("--keep: %d is negative", keep)
			case older.value == nil && keep == 0 && !all:
				return usagef("say what may go: --older-than DURATION, --keep N, or --all")
			}
			if len(state.values) > 0 {
				p.States = nil
				for _, s := range state.values {
					p.States = append(p.States, todo.Condition(s))
				}
			}
			shape := render.Shape{Fields: render.FieldsOf(queue.PruneResult{}), ID: "op", TSV: []string{"matched", "deleted", "events"}}
			if err := app.Check(shape); err != nil {
				return err
			}
			if err := app.target("prune"); err != nil {
				return err
			}
			if !dryRun {
				if err := app.Confirm(c.Context(), "prune for good?"); err != nil {
					return err
				}
			}
			q, err := app.Queue(c.Context(), "prune")
			if err != nil {
				return err
			}
			g := app.progress("pruned")
			r, err := q.Prune(c.Context(), p, func(r queue.PruneResult) { g.at(r.Deleted) })
			g.end()
			if err != nil {
				if r.Deleted > 0 {
					app.Warn("before it ended: %d todos were deleted; run it again to go on", r.Deleted)
				}
				return err
			}
			return app.Report(shape, r)
		},
	}
	app.queueFlag(c, true)
	f := c.Flags()
	f.Var(&older, "older-than", "only what ended longer ago than this")
	f.IntVar(&keep, "keep", 0, "spare the newest so many of each queue and state")
	f.Var(&state, "state", "done (the default), dead, or both")
	f.BoolVar(&all, "all", false, "whatever its age")
	f.Var(&reason, "reason", "why, for the journal")
	f.BoolVar(&dryRun, "dry-run", false, "count, and delete nothing")
	_ = c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions([]string{"done", "dead"}, cobra.ShellCompDirectiveNoFileComp))
	return exitStatus(c, database(todo.CodeUnknown)...)
}
