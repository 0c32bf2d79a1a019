package cmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const deadLettersHelp = `List dead letters: todos that failed for good, with the error of the last failure. The filters are those of
list; --since and --until compare when a todo died.`

const deadLettersExample = `  todoctl dead-letters -q mail --since 1d
  todoctl dead-letters --error timeout -o id`

const purgeHelp = `Delete dead letters with their history, by filter after asking; without a filter say --all. The journal keeps them
for 7 days, or as long as before_images in the configuration says: so long undo brings them back.`

const purgeExample = `  todoctl dead-letters purge --until 30d --yes
  todoctl dead-letters purge -q mail --dry-run`

func newDeadLetters(app *App) *cobra.Command {
	c := deadLettersList(app, "dead-letters")
	c.GroupID = groupInspect
	list := deadLettersList(app, "list")
	c.AddCommand(list, newGroups(app), newShadow(app), newPurge(app), &cobra.Command{
		Use: "retry", Hidden: true, Short: "See todoctl retry", Args: cobra.ArbitraryArgs, DisableFlagParsing: true,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			return usagef("dead letters are brought back by todoctl retry").WithHint("todoctl retry ID..., or todoctl retry with filters")
		},
	})
	return c
}

func deadLettersList(app *App, use string) *cobra.Command {
	var o listOptions
	c := &cobra.Command{
		Use: use, Short: "List dead letters", Long: deadLettersHelp, Example: deadLettersExample,
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			shape := render.Shape{Many: true, Fields: render.FieldsOf(todo.Todo{}),
				Table: []string{"id", "queue?", "kind?", "attempt:TRY?", "completed_at:DIED?", "error"},
				Wide:  []string{"id", "queue", "kind", "source", "title", "attempt", "max_attempts", "completed_at:DIED", "fingerprint", "owner", "error"},
				TSV:   []string{"id", "queue", "kind", "attempt", "completed_at", "fingerprint", "error"}}
			return runList(c, app, &o, "dead-letters", shape, todo.IsDead)
		},
	}
	o.filters = app.filterFlags(c, false)
	o.pageFlags(c)
	return exitStatus(c, database()...)
}

func newPurge(app *App) *cobra.Command {
	var reason textFlag
	s := &sweep{verb: "purge", past: "purged", standard: []todo.Condition{todo.IsDead}}
	c := &cobra.Command{
		Use: "purge", Short: "Delete dead letters", Long: purgeHelp, Example: purgeExample, Args: cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			s.matched = func(ctx context.Context, q *queue.Client, f queue.Filter, progress func(queue.Sweep)) (queue.Sweep, error) {
				return q.Purge(ctx, f, reason.value, progress)
			}
			return s.byFilter(c.Context(), app)
		},
	}
	s.filters = app.filterFlags(c, false)
	s.flags(c)
	c.Flags().Var(&reason, "reason", "why, for the journal")
	return exitStatus(c, database(todo.CodePartial, todo.CodeUnknown)...)
}
