package cmd

import (
	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const showHelp = `Show one todo whole: the row, its payload and result, the event that it came from, and its history: each lease
that has ended, with its owner, how it ended (completed, failed, released, expired, taken over, buried), how
long it was held, and the error. Values of the keys that the setting redact names are taken out.`

const showExample = `  todoctl show "$TODO_ID"
  todoctl show "$TODO_ID" --jq .payload`

func newShow(app *App) *cobra.Command {
	c := &cobra.Command{
		Use: "show ID", Short: "Show one todo with payload, event and history", Long: showHelp, Example: showExample,
		GroupID: groupInspect, Args: cobra.ExactArgs(1), ValidArgsFunction: app.completeIDs,
		RunE: func(c *cobra.Command, args []string) error {
			shape := render.Shape{Fields: render.FieldsOf(queue.Whole{}), Payload: true, TSV: listShape().TSV}
			if err := app.Check(shape); err != nil {
				return err
			}
			r, err := todo.ParseReceipt(args[0])
			if err != nil {
				return err
			}
			keys, err := app.secretKeys()
			if err != nil {
				return err
			}
			q, err := app.Queue(c.Context(), "show")
			if err != nil {
				return err
			}
			s, err := q.Show(c.Context(), r.ID)
			if err != nil {
				return err
			}
			redactWhole(&s, keys)
			return app.Print(shape, zero(), s)
		},
	}
	return exitStatus(c, database(todo.CodeNotFound)...)
}
