package cmd

import (
	"context"
	"math"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const whyHelp = `Say why a todo is not running, or why a claim from a queue finds nothing: each reason with a code, since and until
when, who is behind it, and the command that would change it. What stands in the way first comes first. It is
told for the owner who asks, or for --owner: claimable is true exactly when a claim by that owner gets it now.

The codes: claimable; paused, delayed, backoff, assigned, claimed, exhausted, done, dead, superseded,
unknown-queue, none, which keep it from being claimed; expired, released, unclaimed, which do not. Todos ahead
of it are counted up to 2,000, and more are marked with ~ unless --exact asks for all.`

const whyExample = `  todoctl why "$TODO_ID"
  todoctl why -q mail --owner w1 --jq .code`

func newWhy(app *App) *cobra.Command {
	var exact bool
	c := &cobra.Command{
		Use: "why [ID]", Short: "Say why a todo is not running, or a queue gives nothing", Long: whyHelp, Example: whyExample,
		GroupID: groupInspect, Args: cobra.MaximumNArgs(1), ValidArgsFunction: app.completeIDs,
		RunE: func(c *cobra.Command, args []string) error {
			names := c.Flags().Lookup("queue").Value.(*listFlag).values
			if len(args)+len(names) != 1 {
				return usagef("why takes one id, or one queue with -q").WithHint("todoctl why ID, or todoctl why -q NAME")
			}
			limit := queue.WhyCap
			if exact {
				limit = math.MaxInt32
			}
			return runWhy(c, app, append(args, names...)[0], len(names) == 1, limit)
		},
	}
	app.queueFlag(c, true)
	c.Flags().String("owner", "", "for whom; user@host where none is named")
	c.Flags().BoolVar(&exact, "exact", false, "count all that are ahead, however many")
	return exitStatus(c, database(todo.CodeNotFound)...)
}

func runWhy(c *cobra.Command, app *App, what string, ofQueue bool, limit int) error {
	shape := render.Shape{Fields: render.FieldsOf(queue.Explanation{}), ID: "id", TSV: []string{"id", "code", "text", "command"}}
	ask := func(ctx context.Context, q *queue.Client, owner string) (queue.Explanation, error) {
		r, err := todo.ParseReceipt(what)
		if err != nil {
			return queue.Explanation{}, err
		}
		return q.Why(ctx, r.ID, owner, limit)
	}
	if ofQueue {
		shape.ID, shape.TSV[0] = "queue", "queue"
		ask = func(ctx context.Context, q *queue.Client, owner string) (queue.Explanation, error) {
			return q.WhyQueue(ctx, what, owner, limit)
		}
	}
	owner, _, err := app.Owner()
	if err != nil {
		return err
	}
	if err := app.Check(shape); err != nil {
		return err
	}
	q, err := app.Queue(c.Context(), "why")
	if err != nil {
		return err
	}
	e, err := ask(c.Context(), q, owner)
	if err != nil {
		return err
	}
	return app.Print(shape, zero(), e)
}
