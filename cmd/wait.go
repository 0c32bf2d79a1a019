package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

const waitHelp = `Wait until todos have ended: all of them, or with --any one. The exit status is 0 when they are done, 7 when
one of them is a dead letter, 124 when --timeout ran out before.`

const waitExample = `  todoctl wait "$TODO_ID" --timeout 2s || echo "ended with $?"
  todoctl enqueue -q mail '{"to":"ada@example.test"}' | xargs todoctl wait --timeout 1s || echo "not yet: $?"`

func newWait(app *App) *cobra.Command {
	var anyOne, noListen bool
	c := &cobra.Command{
		Use: "wait ID...", Short: "Wait until todos have ended", Long: waitHelp, Example: waitExample,
		GroupID: groupWork, Args: cobra.MinimumNArgs(1), ValidArgsFunction: app.completeIDs,
		RunE: func(c *cobra.Command, args []string) error {
			receipts, many, err := app.receipts(args)
			if err != nil {
				return err
			}
			if err := app.Check(resultShape(many)); err != nil {
				return err
			}
			q, err := app.Queue(c.Context(), "wait")
			if err != nil {
				return err
			}
			app.notePolling(noListen)
			list, err := app.untilEnded(c.Context(), q, receipts, anyOne, !noListen)
			if err != nil {
				return err
			}
			if err := app.results("wait for", list, many); err != nil {
				return err
			}
			return deadAmong(list, anyOne)
		},
	}
	c.Flags().BoolVar(&anyOne, "any", false, "until one of them has ended")
	c.Flags().BoolVar(&noListen, "no-listen", false, "look again now and then instead of LISTEN")
	return exitStatus(c, database(todo.CodeNotFound, todo.CodePartial, todo.CodeData)...)
}

// untilEnded looks until all of the todos have ended, or one of them.
func (a *App) untilEnded(ctx context.Context, q *queue.Client, receipts []todo.Receipt, anyOne, listen bool) ([]queue.Result, error) {
	w := queue.NewWatch(q, ids(receipts), listen, a.warnText)
	defer w.Close(ctx)
	for {
		list, err := q.Look(ctx, receipts)
		if err != nil {
			return nil, err
		}
		open := 0
		for _, r := range list {
			if r.Error == nil && r.Condition != todo.IsDone && r.Condition != todo.IsDead {
				open++
			}
		}
		if open == 0 || anyOne && open < len(list) {
			return list, nil
		}
		if err := w.Next(ctx, century, todo.Time{}); err != nil {
			what := "the todos had ended"
			if anyOne {
				what = "one of the todos had ended"
			}
			return nil, dbconn.WaitError(ctx, what)
		}
	}
}

// deadAmong is the error of a wait that met a dead letter.
func deadAmong(list []queue.Result, anyOne bool) error {
	done, dead := 0, 0
	for _, r := range list {
		switch r.Condition {
		case todo.IsDone:
			done++
		case todo.IsDead:
			dead++
		}
	}
	if dead == 0 || anyOne && done > 0 {
		return nil
	}
	return todo.Errorf(todo.CodePartial, "%d of %d todos are dead letters", dead, len(list)).With("dead", dead).With("done", done).
		WithHint("todoctl dead-letters shows why")
}
