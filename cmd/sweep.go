package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

// sweep is an operator's verb that acts on named ids, or on what filters match after asking.
type sweep struct {
	verb     string
	past     string // for the progress line
	filters  *filters
	all      bool
	dryRun   bool
	standard []todo.Condition // what a filter means without --state
	named    func(context.Context, *queue.Client, []string) ([]queue.Result, error)
	matched  func(context.Context, *queue.Client, queue.Filter, func(queue.Sweep)) (queue.Sweep, error)
}

// flags adds the flags of every such verb.
func (s *sweep) flags(c *cobra.Command) {
	c.Flags().BoolVar(&s.all, "all", false, "everything that the verb applies to, without a filter")
	c.Flags().BoolVar(&s.dryRun, "dry-run", false, "count, and change nothing")
}

func sweepShape() render.Shape {
	return render.Shape{Fields: render.FieldsOf(queue.Sweep{}), ID: "op", TSV: []string{"matched", "changed", "superseded", "skipped", "errors"}}
}

// run is one call of the verb.
func (s *sweep) run(c *cobra.Command, app *App, args []string) error {
	if len(args) > 0 {
		return s.byID(c.Context(), app, args)
	}
	return s.byFilter(c.Context(), app)
}

func (s *sweep) byID(ctx context.Context, app *App, args []string) error {
	if s.all || s.filters.given() {
		return usagef("%s takes ids, or filters, not both", s.verb)
	}
	receipts, many, err := app.receipts(args)
	if err != nil {
		return err
	}
	if err := app.Check(resultShape(many)); err != nil {
		return err
	}
	if err := s.guard(ctx, app, len(receipts)); err != nil {
		return err
	}
	q, err := app.Queue(ctx, s.verb)
	if err != nil {
		return err
	}
	if s.dryRun {
		return s.dryIDs(ctx, app, q, receipts)
	}
	list, err := s.named(ctx, q, ids(receipts))
	if err != nil {
		return err
	}
	return app.results(s.verb, list, many)
}

// guard shows the target, and in production asks before what was named is changed.
func (s *sweep) guard(ctx context.Context, app *App, n int) error {
	if s.dryRun || n == 0 {
		return app.target(s.verb)
	}
	return app.guard(ctx, s.verb, fmt.Sprintf("%s %d todos?", s.verb, n))
}

// dryIDs tells which of the named todos are there, and changes nothing.
func (s *sweep) dryIDs(ctx context.Context, app *App, q *queue.Client, receipts []todo.Receipt) error {
	n := queue.Sweep{Verb: s.verb}
	for _, r := range receipts {
		t, err := q.Show(ctx, r.ID)
		switch {
		case errors.Is(err, todo.ErrNotFound):
			n.Errors++
		case err != nil:
			return err
		default:
			n.Matched++
			if !appliesTo(s.verb, t.Condition) {
				n.Skipped++
			}
		}
	}
	return app.Report(sweepShape(), n)
}

// appliesTo says whether a verb on a named todo goes with its condition.
func appliesTo(verb string, c todo.Condition) bool {
	switch verb {
	case "retry":
		return c == todo.IsDead || c == todo.IsRetrying
	case "bump":
		return c == todo.IsPending || c == todo.IsDelayed
	}
	return c != todo.IsDone && c != todo.IsDead && c != todo.IsClaimed
}

func (s *sweep) byFilter(ctx context.Context, app *App) error {
	if !s.all && !s.filters.given() {
		return usagef("%s: no ids and no filter", s.verb).WithHint("name todos or filters, or say --all to mean all")
	}
	f, err := s.filters.filter(s.standard...)
	if err != nil {
		return err
	}
	shape := sweepShape()
	if s.dryRun && s.verb == "retry" {
		shape = app.retryCountsShape()
	}
	if err := app.Check(shape); err != nil {
		return err
	}
	if err := app.target(s.verb); err != nil {
		return err
	}
	if !s.dryRun && !app.Flags.Yes && (!app.Streams.InTTY || !app.Streams.ErrTTY) {
		return app.Confirm(ctx, s.verb+" by filter")
	}
	q, err := app.Queue(ctx, s.verb)
	if err != nil {
		return err
	}
	var scanned queue.Scanned
	if s.dryRun && s.verb == "retry" {
		groups, err := q.Counts(ctx, f, &scanned, nil)
		if err != nil {
			return filterFault(err)
		}
		matched, err := app.reportCounts(groups)
		app.noteUnknownQueues(ctx, q, f, matched)
		return err
	}
	n := queue.Sweep{Verb: s.verb}
	if s.dryRun || !app.Flags.Yes {
		if n.Matched, err = q.Count(ctx, f, &scanned); err != nil {
			return filterFault(err)
		}
		app.noteUnknownQueues(ctx, q, f, n.Matched)
	}
	if s.dryRun {
		return app.Report(sweepShape(), n)
	}
	if err := app.Confirm(ctx, fmt.Sprintf("%s %d todos?", s.verb, n.Matched)); err != nil {
		return err
	}
	p := app.progress(s.past)
	n, err = s.matched(ctx, q, f, func(n queue.Sweep) { p.at(n.Matched) })
	p.end()
	if err != nil {
		if n.Changed > 0 {
			app.Warn("before it ended: %d of %d changed; run it again to go on", n.Changed, n.Matched)
		}
		return filterFault(err)
	}
	if app.Flags.Yes {
		app.noteUnknownQueues(ctx, q, f, n.Matched)
	}
	if err := app.Report(sweepShape(), n); err != nil {
		return err
	}
	return app.faults(n)
}

// noteUnknownQueues warns of a queue in the filter that nobody has ever used: most likely a misspelt one.
func (a *App) noteUnknownQueues(ctx context.Context, q *queue.Client, f queue.Filter, matched int) {
	if matched > 0 {
		return
	}
	for _, name := range f.Queues {
		known, err := q.Names(ctx, name)
		if err != nil {
			return // it is only a note
		}
		if len(known) == 0 || known[0].Text != name {
			a.Warn("queue %s is not known; todoctl queues lists the queues there are", name)
		}
	}
}
