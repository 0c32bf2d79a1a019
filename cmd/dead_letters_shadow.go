//go:build unix

package cmd

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
	"github.com/todoctl/todoctl/pkg/worker"
)

const shadowHelp = `Try a command on dead letters before they are retried: it is run for a random sample of those that the filters
match, as work would run it, with TODO_SHADOW=1 beside the other variables. A command that sees it should not do
what cannot be undone. No todo is changed, and no lock or transaction is held while commands run. The receipt is
that of a lease that is over.

Passed is what work would have completed. The exit status is 7 when some failed.`

const shadowExample = `  todoctl dead-letters test -q mail --sample 20 -- sh -c 'jq -r .to'
  todoctl dead-letters test --error timeout -o json -- true`

type shadowOptions struct {
	filters             *filters
	sample, concurrency int
	runTimeout, grace   durationFlag
	keepEnv             []string
	on                  worker.Map
}

// shadowResult is the answer as one object.
type shadowResult struct {
	Op      string         `json:"op"`
	Tested  int            `json:"tested"`
	Passed  int            `json:"passed"`
	Failed  int            `json:"failed"`
	Moved   int            `json:"moved"` // no dead letters any more when their turn came
	Results []worker.Trial `json:"results"`
}

func newShadow(app *App) *cobra.Command {
	o := shadowOptions{on: worker.DefaultMap()}
	c := &cobra.Command{
		Use: "test [flags] -- COMMAND [ARG...]", Short: "Try a command on dead letters, and change nothing", Long: shadowHelp, Example: shadowExample,
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: completeFiles,
		RunE: func(c *cobra.Command, args []string) error { return runShadow(c.Context(), app, &o, args) },
	}
	o.filters = app.filterFlags(c, false)
	f := c.Flags()
	f.IntVar(&o.sample, "sample", 20, "how many of them, chosen at random")
	f.IntVarP(&o.concurrency, "concurrency", "c", 1, "commands at once")
	f.Var(&o.runTimeout, "run-timeout", "stop a command that runs longer; it has failed")
	f.Var(&o.grace, "grace", "from then until it is killed (default 20s)")
	f.Var(&o.on, "on", "what follows on an exit code, a range or signal, as for work")
	f.StringSliceVar(&o.keepEnv, "keep-env", nil, "leave this variable of todoctl's own connection to the command")
	return exitStatus(c, database(todo.CodePartial)...)
}

// options checks the flags and makes the worker's options of them.
func (o *shadowOptions) options(app *App, command []string) (opt worker.Options, err error) {
	if o.sample < 1 || o.concurrency < 1 || o.concurrency > 1000 {
		return opt, usagef("--sample and --concurrency: from 1 on, and at most 1000 at once")
	}
	lines := &lockedWriter{w: app.Streams.Err}
	app.Streams.Err = lines // warnings too: one line never tears another apart
	opt = worker.Options{Command: command, RunTimeout: o.runTimeout.or(0), Grace: o.grace.or(20 * time.Second), On: o.on,
		Stderr: lines, Guard: guard(), Warn: app.warnText}
	if opt.Claim.Owner, _, err = app.Owner(); err != nil {
		return opt, err
	}
	if opt.Claim.TTL, err = app.Config.Duration("ttl"); err != nil {
		return opt, err
	}
	opt.Env, err = app.childEnv(o.keepEnv)
	return opt, err
}

// shadowShape is one object for JSON, and a row for each todo elsewhere.
func shadowShape(app *App) render.Shape {
	if f := app.Config.Value("output").Text; f == render.JSON || app.Flags.JQ != "" && f != render.JSONL {
		return render.Shape{Fields: render.FieldsOf(shadowResult{})}
	}
	return render.Shape{Many: true, Fields: render.FieldsOf(worker.Trial{}), Table: []string{"id", "queue?", "outcome", "seconds?", "error"},
		TSV: []string{"id", "outcome", "queue", "kind", "seconds", "error"}}
}

func runShadow(ctx context.Context, app *App, o *shadowOptions, command []string) error {
	f, err := o.filters.filter(todo.IsDead)
	if err != nil {
		return err
	}
	opt, err := o.options(app, command)
	if err != nil {
		return err
	}
	shape := shadowShape(app)
	w, err := app.Answer(shape, zero())
	if err != nil {
		return err
	}
	q, err := app.Queue(ctx, "dead-letters")
	if err != nil {
		return err
	}
	ids, err := sampled(ctx, q, f, o.sample)
	if err != nil {
		return filterFault(err)
	}
	t := &trials{q: q, ids: ids, all: shadowResult{Op: "test", Results: []worker.Trial{}}}
	if shape.Many {
		t.each = func(x worker.Trial) error { return errors.Join(w.Row(x), w.Flush()) }
	}
	err = t.run(ctx, opt, o.concurrency)
	var cannot *worker.CannotRun
	switch {
	case ctx.Err() != nil:
		return dbconn.WaitError(ctx, "the trials had ended")
	case errors.As(err, &cannot):
		return &statusError{cannot.Code, todo.Errorf(todo.CodeUsage, "%v", cannot)}
	case err != nil:
		return err
	}
	if !shape.Many {
		err = w.Row(t.all)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	if t.all.Failed > 0 {
		return todo.Errorf(todo.CodePartial, "%d of %d failed", t.all.Failed, t.all.Tested).With("passed", t.all.Passed).With("failed", t.all.Failed)
	}
	app.Note("%d tested, all passed", t.all.Tested)
	return nil
}

// sampled returns the ids of so many of the todos that match, each as likely as any other, in order.
func sampled(ctx context.Context, q *queue.Client, f queue.Filter, size int) ([]string, error) {
	var ids []string
	n := 0
	for t, err := range q.List(ctx, f, queue.Page{}, &queue.Scanned{}) {
		if err != nil {
			return nil, err
		}
		if n++; len(ids) < size {
			ids = append(ids, t.ID)
		} else if i := rand.IntN(n); i < size {
			ids[i] = t.ID
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// trials are the commands of one test. Todos are read one by one, each when its turn has come.
type trials struct {
	each func(worker.Trial) error // nil: they are collected

	mu  sync.Mutex
	q   *queue.Client
	ids []string
	all shadowResult
	err error
}

// run tries the command on each of the todos, so many at once.
func (t *trials) run(ctx context.Context, opt worker.Options, concurrency int) error {
	trier := worker.NewTrier(ctx, opt)
	defer trier.Close()
	var tasks sync.WaitGroup
	for range min(concurrency, len(t.ids)) {
		tasks.Go(func() {
			for s, ok := t.next(ctx); ok; s, ok = t.next(ctx) {
				x, err := trier.Try(s.Todo)
				t.note(x, err)
			}
		})
	}
	tasks.Wait()
	return t.err
}

// next reads the next todo that is still a dead letter.
func (t *trials) next(ctx context.Context) (queue.Whole, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.ids) > 0 && t.err == nil && ctx.Err() == nil {
		id := t.ids[0]
		t.ids = t.ids[1:]
		s, err := t.q.Show(ctx, id)
		switch {
		case err == nil && s.Condition == todo.IsDead:
			return s, true
		case err != nil && !errors.Is(err, todo.ErrNotFound):
			t.err = err
			return s, false
		}
		t.all.Moved++
	}
	return queue.Whole{}, false
}

// note counts what came of a trial.
func (t *trials) note(x worker.Trial, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil {
		t.err = err
		return
	}
	t.all.Tested++
	if x.Passed {
		t.all.Passed++
	} else {
		t.all.Failed++
	}
	if t.each != nil {
		t.err = errors.Join(t.err, t.each(x))
		return
	}
	t.all.Results = append(t.all.Results, x)
}
