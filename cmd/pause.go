package cmd

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const pauseHelp = `Stop claims from queues, durably and for every claimer, until resume or for a while. Leases that run go on;
with --wait the command returns when none does any more, or ends with 124 and names those that do.`

const pauseExample = `  todoctl pause mail --for 1h --reason 'provider is down'
  todoctl pause mail billing --wait 30s`

func newPause(app *App) *cobra.Command {
	var length, hold durationFlag
	length.min = time.Second
	var reason textFlag
	c := &cobra.Command{
		Use: "pause QUEUE...", Short: "Stop claims from queues", Long: pauseHelp, Example: pauseExample,
		GroupID: groupOperate, Args: cobra.MinimumNArgs(1), ValidArgsFunction: app.completeQueues,
		RunE: func(c *cobra.Command, args []string) error {
			queues, err := queueArgs(args)
			if err != nil {
				return err
			}
			shape := pausedShape(len(queues) > 1)
			if err := app.Check(shape); err != nil {
				return err
			}
			if err := app.guard(c.Context(), "pause", "pause "+strings.Join(queues, ", ")+"?"); err != nil {
				return err
			}
			by, _, err := app.Owner()
			if err != nil {
				return err
			}
			q, err := app.Queue(c.Context(), "pause")
			if err != nil {
				return err
			}
			list, err := q.Pause(c.Context(), queues, length.value, by, reason.value)
			if err != nil {
				return err
			}
			if hold.value != nil {
				if err := app.untilIdle(c.Context(), q, queues, *hold.value); err != nil {
					return err
				}
			}
			return app.reportPaused(shape, list)
		},
	}
	f := c.Flags()
	f.Var(&length, "for", "resume by itself after so long")
	f.Var(&reason, "reason", "why, for those who ask")
	f.Var(&hold, "wait", "wait so long for running leases to end")
	return exitStatus(c, database(todo.CodeUnknown)...)
}

// untilIdle waits until no lease runs in the queues.
func (a *App) untilIdle(ctx context.Context, q *queue.Client, queues []string, length time.Duration) error {
	end := time.Now().Add(length)
	for {
		running, err := q.Running(ctx, queues)
		if err != nil || len(running) == 0 {
			return err
		}
		left := time.Until(end)
		if left <= 0 {
			var held []string
			for _, t := range running {
				held = append(held, *t.Receipt)
			}
			return todo.Errorf(todo.CodeTimeout, "paused, but %d leases still run: %v", len(running), held[:min(len(held), 20)]).
				With("running", held).WithHint("todoctl list --state claimed shows who holds them; they end by themselves")
		}
		if err := wait(ctx, min(left, 250*time.Millisecond)); err != nil {
			return dbconn.WaitError(ctx, "the running leases had ended")
		}
	}
}

func pausedShape(many bool) render.Shape {
	return render.Shape{Many: many, Fields: render.FieldsOf(queue.Paused{}), ID: "queue",
		TSV: []string{"queue", "paused", "paused_until", "changed"}}
}

func (a *App) reportPaused(shape render.Shape, list []queue.Paused) error {
	rows := make([]any, len(list))
	for i, p := range list {
		rows[i] = p
	}
	return a.Report(shape, rows...)
}

func queueArgs(args []string) ([]string, error) {
	for _, name := range args {
		if err := todo.CheckQueue(name); err != nil {
			return nil, asUsage("queue", err)
		}
	}
	return distinctStrings(args), nil
}
