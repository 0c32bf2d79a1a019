package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const undoHelp = `Put back what an operator's verb changed, after asking: each todo as it was before, with its history, and purged
ones whole; a queue as it was before a pause or resume. What has moved since is left alone, and told with the
reason. The journal keeps what that needs for 7 days, or as long as before_images in the configuration says;
prune keeps nothing. OP is the op that the verb answered, or that the journal lists.`

const undoExample = `  todoctl undo "$(todoctl journal -n 1 -o id)" --dry-run
  todoctl undo "$(todoctl journal -n 1 -o id)" --reason 'wrong queue' --yes`

func newUndo(app *App) *cobra.Command {
	var p queue.UndoParams
	var reason textFlag
	c := &cobra.Command{
		Use: "undo OP", Short: "Put back what an operator's verb changed", Long: undoHelp, Example: undoExample,
		GroupID: groupOperate, Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			if p.Op, p.Reason = args[0], reason.value; p.Op == "" {
				return usagef("the op is empty")
			}
			return runUndo(c, app, p)
		},
	}
	c.Flags().BoolVar(&p.DryRun, "dry-run", false, "say what would be put back, and change nothing")
	c.Flags().Var(&reason, "reason", "why, for the journal")
	return exitStatus(c, database(todo.CodeConflict, todo.CodeNotFound, todo.CodePartial, todo.CodeUnknown)...)
}

func runUndo(c *cobra.Command, app *App, p queue.UndoParams) error {
	ctx := c.Context()
	shape := render.Shape{Fields: render.FieldsOf(queue.Undone{}), ID: "op", Table: sweepShape().TSV, TSV: sweepShape().TSV}
	if err := app.Check(shape); err != nil {
		return err
	}
	if err := app.target("undo"); err != nil {
		return err
	}
	if !p.DryRun && !app.Flags.Yes && (!app.Streams.InTTY || !app.Streams.ErrTTY) {
		return app.Confirm(ctx, "undo "+p.Op)
	}
	q, err := app.Queue(ctx, "undo")
	if err != nil {
		return err
	}
	e, now, err := q.Entry(ctx, p.Op)
	if err != nil {
		return err
	}
	if err := e.Undoable(now); err != nil {
		return err
	}
	if !p.DryRun {
		if err := app.Confirm(ctx, fmt.Sprintf("undo the %s of %d by %s at %s?", e.Verb, e.Changed, e.Who, e.At)); err != nil {
			return err
		}
	}
	g := app.progress("put back")
	u, err := q.Undo(ctx, p, func(s queue.Sweep) { g.at(s.Changed) })
	g.end()
	if err != nil {
		if u.Changed > 0 {
			app.Warn("before it ended: %d of %d were put back; run it again to go on", u.Changed, e.Changed)
		}
		return err
	}
	if err := app.Report(shape, u); err != nil {
		return err
	}
	return app.notUndone(u, p.DryRun)
}

// notUndone tells why some were not put back, and returns the error that it adds up to.
func (a *App) notUndone(u queue.Undone, dry bool) error {
	refused := u.Superseded + u.Skipped
	if !a.json() {
		for _, r := range u.Refused[:min(20, len(u.Refused))] {
			a.Warn("%s: %s", r.ID, r.Message)
		}
		if refused > 20 {
			a.Warn("and %d more", refused-20)
		}
	}
	if refused == 0 || dry {
		return nil
	}
	code := todo.CodePartial
	if refused == u.Matched {
		code = todo.CodeConflict
	}
	return todo.Errorf(code, "undo: %d of %d put back, %d have moved since, %d superseded", u.Changed, u.Matched, u.Skipped, u.Superseded).
		With("done", u.Changed).With("moved", u.Skipped).With("superseded", u.Superseded)
}
