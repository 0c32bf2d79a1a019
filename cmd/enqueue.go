package cmd

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/intake"
	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const enqueueHelp = `Make a todo, or one for each line of a file. A todo whose key a live todo of the queue has already is
a duplicate: the live one is the answer, created is false, and the exit status is 0.

PAYLOAD is literal JSON; without one the payload is null. --from reads one JSON object a line with the
fields queue, title, kind, source, payload, key, assignee, max_attempts, delay or at or head_start, and
event_id or event. Flags give what a line lacks. All lines are enqueued, or none.

--event stores the raw delivery beside the todo: its source and kind are the todo's, its external id is
the key; or give {"source":…,"kind":…,"external_id":…,"payload":…}. A redelivery finds the first.`

const enqueueExample = `  todoctl enqueue -q mail --kind welcome --key signup-42 '{"to":"ada@example.test"}'
  printf '%s\n' '{"payload":1}' '{"payload":2}' | todoctl enqueue -q mail --from -`

type enqueueOptions struct {
	title, kind, source, event   string
	payload, key, assignee, evID textFlag
	maxAttempts                  int
	at                           string
	delay, headStart             durationFlag
	from, rejects                string
	skipInvalid                  bool
	expect                       int
}

func newEnqueue(app *App) *cobra.Command {
	var o enqueueOptions
	c := &cobra.Command{
		Use: "enqueue [PAYLOAD]", Short: "Make todos; a duplicate finds the live one", Long: enqueueHelp, Example: enqueueExample,
		GroupID: groupWork, Args: cobra.MaximumNArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			if o.from != "" {
				return runEnqueueFrom(c, app, &o, args)
			}
			return runEnqueue(c.Context(), app, c, &o, args)
		},
	}
	f := c.Flags()
	app.queueFlag(c, false)
	f.StringVar(&o.title, "title", "", "what it is about, for people")
	f.StringVar(&o.kind, "kind", "", "what sort of work it is")
	f.StringVar(&o.source, "source", "", "where it came from")
	f.Var(&o.payload, "payload", "JSON, @FILE or - for standard input")
	f.Var(&o.key, "key", "idempotency key: one live todo for each key of a queue")
	f.Var(&o.assignee, "assignee", "the only owner that may claim it")
	f.IntVar(&o.maxAttempts, "max-attempts", queue.DefaultMaxAttempts, "attempts after which it is a dead letter")
	f.Var(&o.delay, "delay", "not to be claimed before so long from now")
	f.StringVar(&o.at, "at", "", "not to be claimed before then: RFC 3339 with an offset")
	f.Var(&o.headStart, "head-start", "place in the queue as if it had come so much earlier")
	f.Var(&o.evID, "event-id", "an event that is stored already")
	f.StringVar(&o.event, "event", "", "the raw delivery to store with it: JSON, @FILE or -")
	f.StringVar(&o.from, "from", "", "read todos from FILE, one JSON object a line; - is standard input")
	f.BoolVar(&o.skipInvalid, "skip-invalid", false, "leave bad lines out (exit 7) instead of refusing them all")
	f.StringVar(&o.rejects, "rejects", "", "with --skip-invalid: keep the bad lines in FILE")
	f.IntVar(&o.expect, "expect", -1, "write nothing unless there are exactly so many")
	c.MarkFlagsMutuallyExclusive("delay", "at", "head-start")
	c.MarkFlagsMutuallyExclusive("event", "event-id")
	for _, name := range []string{"payload", "event"} {
		c.MarkFlagsMutuallyExclusive("from", name)
	}
	return exitStatus(c, database(todo.CodeData, todo.CodePartial, todo.CodeUnknown)...)
}

// todo builds the todo that the flags describe; for --from they are the defaults.
func (o *enqueueOptions) todo(app *App, c *cobra.Command) (queue.NewTodo, error) {
	n := queue.NewTodo{Title: o.title, Kind: o.kind, Source: o.source, Payload: "null", Key: o.key.value, Assignee: o.assignee.value,
		MaxAttempts: o.maxAttempts, EventID: o.evID.value, Delay: o.delay.value}
	queues, err := app.queues(c)
	switch {
	case err != nil:
		return n, err
	case len(queues) > 1:
		return n, usagef("--queue: a todo goes into one queue, not %d", len(queues))
	case len(queues) == 1:
		n.Queue = queues[0]
	}
	if o.headStart.value != nil {
		back := -*o.headStart.value
		n.Delay = &back
	}
	if c.Flags().Changed("at") {
		if err := intake.Schedule(&n, "at", o.at); err != nil {
			return n, asUsage("--at", err)
		}
	}
	if o.from != "" && n.Queue == "" { // each line may name its own
		return n, nil
	}
	if n.Queue == "" {
		return n, usagef("no queue").WithHint("name one with -q NAME, TODOCTL_QUEUE or queue: in the config file")
	}
	if err := intake.CheckTodo(&n); err != nil {
		return n, usagef("%v", err)
	}
	return n, nil
}

func enqueueShape() render.Shape {
	return render.Shape{Fields: render.FieldsOf(queue.Enqueued{}), TSV: []string{"id"},
		Table: []string{"id", "queue", "kind", "title", "condition", "created"}}
}

func runEnqueue(ctx context.Context, app *App, c *cobra.Command, o *enqueueOptions, args []string) error {
	for _, name := range []string{"skip-invalid", "rejects", "expect"} {
		if c.Flags().Changed(name) {
			return usagef("--%s goes with --from", name)
		}
	}
	if len(args) == 1 && o.payload.value != nil {
		return usagef("the payload is given twice: as an argument and with --payload")
	}
	if err := app.Check(enqueueShape()); err != nil {
		return err
	}
	n, err := o.todo(app, c)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		n.Payload = args[0]
	} else if o.payload.value != nil {
		if o.event == "-" && *o.payload.value == "-" {
			return usagef("--payload and --event cannot both read standard input")
		}
		if n.Payload, err = app.value("--payload", *o.payload.value, intake.MaxLine); err != nil {
			return err
		}
	}
	if err := intake.CheckJSON([]byte(n.Payload)); err != nil {
		return payloadFault("payload", err)
	}
	if c.Flags().Changed("event") {
		raw, err := app.value("--event", o.event, intake.MaxLine)
		if err != nil {
			return err
		}
		if err := intake.CheckJSON([]byte(raw)); err != nil {
			return payloadFault("--event", err)
		}
		if n.Event, err = intake.Event(&n, []byte(raw)); err != nil {
			return payloadFault("--event", err)
		}
		if err := intake.CheckTodo(&n); err != nil {
			return payloadFault("--event", err)
		}
	}
	q, err := app.Queue(ctx, "enqueue")
	if err != nil {
		return err
	}
	e, err := q.Enqueue(ctx, n)
	if err != nil {
		return err
	}
	if !e.Created {
		app.Note("a duplicate: the live todo with this key is %s", e.Condition)
	}
	return app.Print(enqueueShape(), zero(), e)
}

// payloadFault names what held the bad JSON: any fault in a payload is bad data, wherever it came from.
func payloadFault(what string, err error) error {
	return todo.Errorf(todo.CodeData, "%s: %v", what, err)
}

func runEnqueueFrom(c *cobra.Command, app *App, o *enqueueOptions, args []string) error {
	ctx := c.Context()
	if len(args) > 0 {
		return usagef("a payload and --from exclude each other")
	}
	if o.rejects != "" && !o.skipInvalid {
		return usagef("--rejects goes with --skip-invalid")
	}
	defaults, err := o.todo(app, c)
	if err != nil {
		return err
	}
	shape, each := bulkShape(app)
	if err := app.Check(shape); err != nil {
		return err
	}
	in, err := app.open("--from", o.from)
	if err != nil {
		return err
	}
	defer in.Close()
	opt := intake.Options{Defaults: defaults, SkipInvalid: o.skipInvalid, Expect: o.expect}
	var rejects *os.File
	if o.rejects != "" {
		if rejects, err = app.createRejects(o.rejects, in); err != nil {
			return err
		}
		defer rejects.Close()
		opt.Rejects = rejects
	}
	p := app.progress("lines")
	defer p.end()
	lines := intake.NewReader(p.of(in), opt)
	bulk := queue.BulkOptions{}
	if o.skipInvalid {
		bulk.Skip = lines.Skip
	}
	w, err := app.Answer(shape, zero())
	if err != nil {
		return err
	}
	if each {
		bulk.Each = func(l queue.BulkLine) error { return w.Row(l) }
	}
	q, err := app.Queue(ctx, "enqueue")
	if err != nil {
		return err
	}
	r, err := q.EnqueueMany(ctx, func() (*queue.NewTodo, error) {
		p.at(lines.Lines())
		return lines.Next()
	}, bulk)
	p.end()
	if err != nil {
		return err
	}
	r.Invalid = lines.Invalid
	if rejects != nil {
		if err := errors.Join(lines.Kept(), rejects.Close()); err != nil {
			return todo.Errorf(todo.CodeInternal, "write --rejects: %v", err)
		}
	}
	if !each {
		if err := w.Row(r); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	app.Note("%d lines read: %d created, %d duplicates, %d invalid", lines.Lines(), r.Created, r.Duplicates, r.Invalid)
	if r.Invalid > 0 {
		return todo.Errorf(todo.CodePartial, "%d created, %d duplicates, %d invalid: %s", r.Created, r.Duplicates, r.Invalid, lines.Summary()).
			With("lines", lines.Bad).With("invalid", r.Invalid)
	}
	return nil
}

// bulkShape is the answer to a bulk enqueue: one object of counts, or for jsonl and the forms of ids
// one row for each line of input.
func bulkShape(app *App) (s render.Shape, each bool) {
	switch app.Config.Value("output").Text {
	case render.JSONL, render.ID:
		return render.Shape{Many: true, Fields: render.FieldsOf(queue.BulkLine{})}, true
	}
	return render.Shape{Fields: render.FieldsOf(queue.BulkResult{}), TSV: []string{"created", "duplicates", "invalid"}}, false
}

// open opens a file that a flag names; - is standard input.
func (a *App) open(flag, name string) (io.ReadCloser, error) {
	if name == "-" {
		a.noteTerminal()
		return io.NopCloser(a.Streams.In), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usagef("%s: %v", flag, err)
	}
	return f, nil
}
