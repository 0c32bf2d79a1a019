package cmd

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const claimHelp = `Take the next todo under a lease: your own assigned ones first, then the pool, first in first out.
With several queues the one whose head is oldest comes first. With an ID, take that todo.

The answer holds the receipt, which heartbeat, complete, fail and release take: it names this one lease,
so that a process that is late can never touch a lease that came after its own. When there is nothing the
exit status is 3. A script takes the status from an assignment: out=$(todoctl claim -q mail); rc=$?`

const claimExample = `  todoctl claim -q mail --ttl 10m
  eval "$(todoctl claim -q mail -o env)" && echo "$TODO_RECEIPT"`

type claimOptions struct {
	limit    int
	wait     durationFlag
	noListen bool
	strict   bool
}

func newClaim(app *App) *cobra.Command {
	var o claimOptions
	c := &cobra.Command{
		Use: "claim [ID]", Short: "Take the next todo under a lease", Long: claimHelp, Example: claimExample,
		GroupID: groupWork, Args: cobra.MaximumNArgs(1), ValidArgsFunction: app.completeIDs,
		RunE: func(c *cobra.Command, args []string) error { return runClaim(c, app, o, args) },
	}
	f := c.Flags()
	app.queueFlag(c, false)
	f.String("owner", "", "who will hold the lease; user@host where none is named")
	f.String("ttl", "", "length of the lease, 1s to 7d (default 5m)")
	f.IntVarP(&o.limit, "limit", "n", 1, "claim up to so many; the answer is a list then")
	f.Var(&o.wait, "wait", "when there is nothing, wait so long for something")
	f.BoolVar(&o.noListen, "no-listen", false, "with --wait: look again now and then instead of LISTEN")
	f.BoolVar(&o.strict, "strict-order", false, "several queues: in the order given, not by the oldest head")
	return exitStatus(c, database(todo.CodeEmpty, todo.CodeConflict, todo.CodeNotFound, todo.CodeUnknown)...)
}

func claimShape(many bool) render.Shape {
	return render.Shape{Many: many, Fields: render.FieldsOf(todo.Todo{}),
		Table: []string{"receipt", "queue", "kind?", "title", "attempt:TRY", "max_attempts:MAX?", "lease_expires_at:LEASE?"},
		TSV:   []string{"receipt", "queue", "kind", "attempt", "max_attempts", "title"}}
}

func runClaim(c *cobra.Command, app *App, o claimOptions, args []string) error {
	ctx := c.Context()
	many := c.Flags().Changed("limit")
	shape := claimShape(many)
	if err := app.Check(shape); err != nil {
		return err
	}
	owner, _, err := app.Owner()
	if err != nil {
		return err
	}
	ttl, err := app.Config.Duration("ttl")
	if err != nil {
		return err
	}
	if o.limit < 1 || o.limit > 10000 {
		return usagef("--limit: %d is not between 1 and 10000", o.limit)
	}
	var names []string
	var claim func(*queue.Client) ([]todo.Todo, error)
	if len(args) == 1 {
		if c.Flags().Changed("queue") || many {
			return usagef("an id names one todo; -q and --limit do not go with it")
		}
		r, err := todo.ParseReceipt(args[0])
		if err != nil {
			return err
		}
		claim = func(q *queue.Client) ([]todo.Todo, error) {
			t, err := q.ClaimID(ctx, r.ID, owner, ttl)
			if err != nil {
				return nil, err
			}
			return []todo.Todo{t}, nil
		}
	} else {
		p := queue.ClaimParams{Owner: owner, TTL: ttl, Limit: o.limit, Strict: o.strict}
		if p.Queues, err = app.queues(c); err != nil {
			return err
		}
		if len(p.Queues) == 0 {
			return usagef("no queue").WithHint("name one with -q NAME, TODOCTL_QUEUE or queue: in the config file; todoctl queues lists them")
		}
		names = p.Queues
		claim = func(q *queue.Client) ([]todo.Todo, error) { return q.Claim(ctx, p) }
	}
	q, err := app.Queue(ctx, "claim")
	if err != nil {
		return err
	}
	app.notePolling(o.noListen && o.wait.or(0) > 0)
	got, err := app.poll(ctx, queue.NewWatch(q, names, !o.noListen, app.warnText), o.wait.or(0), func() ([]todo.Todo, error) { return claim(q) })
	if err != nil {
		if many && errors.Is(err, todo.ErrEmpty) {
			return errors.Join(err, app.Print(shape, zero()))
		}
		return err
	}
	return app.handOver(ctx, q, shape, got)
}

// notePolling says, once, that a command that waits was told not to listen. Where it cannot, the watch warns of that.
func (a *App) notePolling(noListen bool) {
	if noListen {
		a.Note("looking again now and then instead of being notified: --no-listen")
	}
}

// poll looks again until there is something, or the time is up. Nothing is held meanwhile.
func (a *App) poll(ctx context.Context, w *queue.Watch, length time.Duration, claim func() ([]todo.Todo, error)) ([]todo.Todo, error) {
	end := time.Now().Add(length)
	defer w.Close(ctx)
	for {
		got, err := claim()
		left := time.Until(end)
		if !errors.Is(err, todo.ErrEmpty) || left <= 0 {
			return got, err
		}
		if err := w.Next(ctx, left, dueOf(err)); err != nil {
			return nil, dbconn.WaitError(ctx, "there was something to claim")
		}
	}
}

// dueOf returns when something will be claimable, where an empty claim knows.
func dueOf(err error) todo.Time {
	var e *todo.Error
	if !errors.As(err, &e) {
		return todo.Time{}
	}
	at, _ := e.Details["next_at"].(todo.Time)
	return at
}

// handOver prints what was claimed. If that fails, or the process was told to end, the todos are
// given back: a worker that never learnt of its lease would hold it until it lapses. A closed pipe stays
// an error from then on, so that what -o env says at the end does not kill the process before its exit status.
func (a *App) handOver(ctx context.Context, q *queue.Client, shape render.Shape, got []todo.Todo) error {
	restore := keepPipeErrors()
	err := ctx.Err()
	if err == nil {
		rows := make([]any, len(got))
		for i, t := range got {
			rows[i] = t
		}
		if err = a.Print(shape, zero(), rows...); err == nil {
			restore()
			return nil
		}
	} else {
		err = dbconn.WaitError(ctx, "what was claimed could be handed over")
	}
	var names []string
	for _, t := range got {
		names = append(names, *t.Receipt)
	}
	if back := q.Unclaim(ctx, got, "the claim could not be handed over"); back != nil {
		a.Warn("%v is still claimed, until its lease ends: %v", names, back)
	}
	return err
}
