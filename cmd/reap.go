package cmd

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const reapHelp = `Return to pending what crashed workers left and what has waited out its backoff, and make dead letters of
what is at its attempt cap. A claim finds such todos by itself; reap makes the states say so. It is safe to
run twice at once: runs that meet pass over each other's rows. An empty sweep is a success.

In cron: * * * * * /usr/bin/todoctl reap --quiet --timeout 50s`

const reapExample = `  todoctl reap
  todoctl reap -q mail --dry-run -o json`

// longestPause is how long reap --every waits at most before it asks a database that is away again.
const longestPause = 30 * time.Second

func newReap(app *App) *cobra.Command {
	var dryRun bool
	var every durationFlag
	every.min = time.Second
	c := &cobra.Command{
		Use: "reap", Short: "Return what crashed workers left", Long: reapHelp, Example: reapExample,
		GroupID: groupOperate, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := app.Check(reapShape()); err != nil {
				return err
			}
			queues := c.Flags().Lookup("queue").Value.(*listFlag).values
			if every.value != nil {
				return app.reapEvery(c.Context(), queues, dryRun, *every.value)
			}
			r, err := app.reapOnce(c.Context(), queues, dryRun)
			if err != nil {
				return err
			}
			return app.Report(reapShape(), r)
		},
	}
	app.queueFlag(c, true)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "count what is due and change nothing")
	c.Flags().Var(&every, "every", "go on until told to end, one sweep each so long")
	return exitStatus(c, database(todo.CodeUnknown)...)
}

func reapShape() render.Shape {
	return render.Shape{Fields: render.FieldsOf(queue.ReapResult{}), TSV: []string{"requeued", "retried", "dead"}}
}

// reapOnce sweeps once. What was done before a failure stays done and is told.
func (a *App) reapOnce(ctx context.Context, queues []string, dryRun bool) (queue.ReapResult, error) {
	q, err := a.Queue(ctx, "reap")
	if err != nil {
		return queue.ReapResult{}, err
	}
	p := a.progress("reaped")
	r, err := q.Reap(ctx, queues, dryRun, func(r queue.ReapResult) { p.at(r.Requeued + r.Retried + r.Dead) })
	p.end()
	if err != nil && r != (queue.ReapResult{}) {
		var e *todo.Error
		if errors.As(err, &e) {
			err = e.With("requeued", r.Requeued).With("retried", r.Retried).With("dead", r.Dead)
		}
		a.Warn("before it ended: %d requeued, %d retried, %d dead", r.Requeued, r.Retried, r.Dead)
	}
	return r, err
}

// reapEvery sweeps until a signal ends it, in order. A database that is away is waited for, and said once.
func (a *App) reapEvery(ctx context.Context, queues []string, dryRun bool, every time.Duration) error {
	shape := reapShape()
	shape.Many = true
	w, err := a.Answer(shape, zero())
	if err != nil {
		return err
	}
	away := time.Duration(0)
	for {
		r, err := a.reapOnce(ctx, queues, dryRun)
		switch {
		case ctx.Err() != nil:
			return ended(ctx, w)
		case errors.Is(err, todo.ErrUnavailable) || errors.Is(err, todo.ErrUnknown):
			if away == 0 {
				a.Warn("%v; trying again", err)
			}
			away = min(max(away*2, time.Second), longestPause)
		case err != nil:
			return err
		default:
			away = 0
			if !a.Flags.Quiet && r != (queue.ReapResult{}) {
				if err := errors.Join(w.Row(r), w.Flush()); err != nil {
					return err
				}
			}
		}
		if wait(ctx, max(every, away)) != nil {
			return ended(ctx, w)
		}
	}
}

// ended is how a command ends that goes on until it is told to: in order, unless its --timeout ran out.
func ended(ctx context.Context, w *render.Writer) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.Join(interrupted(ctx), w.Close())
	}
	return w.Close()
}
