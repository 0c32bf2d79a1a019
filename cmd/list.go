package cmd

import (
	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const listHelp = `List todos, live ones unless --state says otherwise, in the order of their ids, which is that of their creation. A
table on a terminal ends after 50 and says how many more there are; elsewhere lists are whole. --after goes on after an
id that was printed.

Where over a thousand are live, the first ones (--limit, or on a terminal) are those that are due first: no index has
live todos in the order of ids. What is leased keeps the place that it had, but for leases that end after a hundred
others of their queue, which stand where they end. Where over a thousand are done or dead --since or --until a time,
the first ones are those that ended first.

Ids, states, queues, keys and fingerprints, and the time at which something was done or died have an index, and ids have
the time in which they were made: --created-since and --created-until look within a day of it. What has none (--error, --payload, --kind and the rest; --since of live todos; expired leases behind a long queue) stops once
--scan-limit rows were read in vain, and says so.`

const listExample = `  todoctl list -q mail --state claimed,expired
  todoctl list --state all --key 72d3162e-cc78-11e3-81ab-4c9367dc0958
  todoctl list --state all --created-since 1h -o jsonl`

// tableLimit is how many rows a table on a terminal has where --limit does not say.
const tableLimit = 50

// moreLimit is how far rows beyond the limit are counted.
const moreLimit = 10000

type listOptions struct {
	filters *filters
	limit   int
	after   textFlag
}

func newList(app *App) *cobra.Command {
	var o listOptions
	c := &cobra.Command{
		Use: "list", Short: "List todos", Long: listHelp, Example: listExample,
		GroupID: groupInspect, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error { return runList(c, app, &o, "list", listShape(), live()...) },
	}
	o.filters = app.filterFlags(c, true)
	o.pageFlags(c)
	return exitStatus(c, database()...)
}

func (o *listOptions) pageFlags(c *cobra.Command) {
	c.Flags().IntVarP(&o.limit, "limit", "n", 0, "at most so many; 50 for a table on a terminal, else all")
	c.Flags().Var(&o.after, "after", "go on after this id")
}

func listShape() render.Shape {
	return render.Shape{Many: true, Fields: render.FieldsOf(todo.Todo{}),
		Table: []string{"id", "queue", "kind?", "title", "condition", "attempt:TRY?", "available_at:DUE?"},
		Wide: []string{"id", "queue", "kind", "source", "title", "condition", "owner", "assignee", "attempt", "max_attempts", "available_at:DUE",
			"idempotency_key", "created_at", "error"},
		TSV: []string{"id", "queue", "condition", "attempt", "kind", "title"}}
}

func runList(c *cobra.Command, app *App, o *listOptions, verb string, shape render.Shape, standard ...todo.Condition) error {
	ctx := c.Context()
	f, err := o.filters.filter(standard...)
	if err != nil {
		return err
	}
	p := queue.Page{Limit: o.limit, Bodies: app.wantsBodies(), Bounded: true, Line: true}
	if c.Flags().Changed("limit") && o.limit < 1 {
		return usagef("--limit: %d is not a number of todos", o.limit)
	}
	if o.after.value != nil {
		r, err := todo.ParseReceipt(*o.after.value)
		if err != nil {
			return asUsage("--after", err)
		}
		p.After = r.ID
	}
	people := app.people()
	if people && p.Limit == 0 {
		p.Limit = tableLimit
	}
	if err := app.Check(shape); err != nil {
		return err
	}
	keys, err := app.secretKeys()
	if err != nil {
		return err
	}
	q, err := app.Queue(ctx, verb)
	if err != nil {
		return err
	}
	var w *render.Writer
	var scanned queue.Scanned
	last, n := "", 0
	for t, err := range q.List(ctx, f, p, &scanned) {
		if err != nil {
			return filterFault(err)
		}
		if w == nil {
			if w, err = app.Answer(shape, scanned.Now); err != nil {
				return err
			}
		}
		redactTodo(&t, keys)
		if err := w.Row(t); err != nil {
			return err
		}
		last, n = t.ID, n+1
	}
	if w == nil {
		if w, err = app.Answer(shape, scanned.Now); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if scanned.Short {
		app.Warn("stopped after %d rows (--scan-limit); there may be more", f.ScanLimit)
	}
	if people && n == p.Limit {
		return app.noteMore(ctx, q, f, last)
	}
	if n == 0 && people {
		app.Note("no todos match")
	}
	return nil
}

// people says that the answer is a table on a terminal.
func (a *App) people() bool {
	f := a.Config.Value("output").Text
	return a.Streams.OutTTY && a.Flags.JQ == "" && (f == "" || f == render.Table || f == render.Wide)
}

// wantsBodies says whether payload and result can be part of the answer.
func (a *App) wantsBodies() bool {
	if len(a.Flags.Fields) > 0 {
		for _, f := range a.Flags.Fields {
			if f == "payload" || f == "result" {
				return true
			}
		}
		return a.Flags.JQ != ""
	}
	switch a.Config.Value("output").Text {
	case render.JSON, render.JSONL, render.CSV:
		return true
	}
	return a.Flags.JQ != ""
}
