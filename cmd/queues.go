package cmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const queuesHelp = `Count, for each queue, its live todos by condition and its dead letters, and tell the age in seconds of the
oldest that could be claimed, and whether the queue is paused. Done todos are counted up to 1,000 of each queue, live
and dead ones up to 10,000, shared among the queues; beyond that they are estimated from the statistics of the server
and from how densely they lie, marked with ~ (and estimated in JSON), unless --exact counts them.

With --window also: todos that came in and that ended a second, the share of leases that failed or ran out, how
long todos waited and work took (p50, p95), and when the queue is empty at this rate, or that it does not drain.
This is drawn from the newest rows up to --scan-limit; where they cover less than the window, the rate is that of
the time which they cover, and marked with ~.

-o prometheus prints OpenMetrics text. --textfile writes it to a file instead, whole or not at all, for the textfile
collector of a node exporter.`

const queuesExample = `  todoctl queues
  todoctl queues --window 1h
  todoctl queues -o prometheus --textfile "$HOME/todoctl.prom"
  todoctl queues -q mail --jq '.[].dead'`

type queuesOptions struct {
	window durationFlag
	scan   scanLimit
	file   textFlag
}

func newQueues(app *App) *cobra.Command {
	o := queuesOptions{window: durationFlag{min: time.Second}}
	c := &cobra.Command{
		Use: "queues", Short: "Count the todos of each queue by condition", Long: queuesHelp, Example: queuesExample,
		GroupID: groupInspect, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			limit, err := o.scan.limit()
			if err != nil {
				return err
			}
			if app.Config.Value("output").Text == prometheus || o.file.value != nil {
				return o.metrics(c, app, limit)
			}
			shape := o.shape()
			if err := app.Check(shape); err != nil {
				return err
			}
			q, err := app.Queue(c.Context(), "queues")
			if err != nil {
				return err
			}
			rows, err := o.rows(c.Context(), app, q, limit, c.Flags().Lookup("queue").Value.(*listFlag).values)
			if err != nil {
				return err
			}
			return app.Print(shape, zero(), rows...)
		},
	}
	app.queueFlag(c, true)
	f := c.Flags()
	f.Var(&o.window, "window", "also rates, times and a forecast, over so long until now")
	o.scan.flags(c, queue.FlowRows, "rows to draw rates and times from at most", "estimate nothing: count each todo, and read the whole window")
	f.Var(&o.file, "textfile", "write OpenMetrics text to this file, atomically")
	_ = c.RegisterFlagCompletionFunc("textfile", completeFiles)
	return exitStatus(c, database()...)
}

// metrics answers as OpenMetrics text, on stdout or in a file.
func (o *queuesOptions) metrics(c *cobra.Command, app *App, limit int) error {
	if v := app.Config.Value("output"); o.file.value != nil && v.Source == "--output" && v.Text != prometheus {
		return usagef("--textfile: the file holds OpenMetrics text, not %s", v.Text).WithHint("todoctl queues -o prometheus --textfile FILE")
	}
	if app.Flags.JQ != "" || len(app.Flags.Fields) > 0 {
		return usagef("--fields and --jq do not go with -o prometheus")
	}
	q, err := app.Queue(c.Context(), "queues")
	if err != nil {
		return err
	}
	only := c.Flags().Lookup("queue").Value.(*listFlag).values
	var list []queue.Flow
	if o.window.value != nil {
		list, err = q.Flows(c.Context(), only, *o.window.value, limit, o.scan.exact)
	} else {
		var tallies []queue.Tally
		tallies, err = q.Tallies(c.Context(), only, o.scan.exact)
		for _, t := range tallies {
			list = append(list, queue.Flow{Tally: t})
		}
	}
	if err != nil {
		return err
	}
	text := metrics(list, o.window.value != nil, o.scan.exact)
	if o.file.value != nil {
		err = replaceFile(*o.file.value, text)
	} else {
		_, err = app.Streams.Out.Write(text)
	}
	if err != nil {
		return todo.Errorf(todo.CodeInternal, "write metrics: %v", err)
	}
	return nil
}

func (o *queuesOptions) shape() render.Shape {
	s := render.Shape{Many: true, Fields: render.FieldsOf(queue.Tally{}), ID: "queue",
		Table: []string{"queue", "pending", "delayed", "claimed", "expired", "retrying", "dead", "done?", "oldest_seconds:OLDEST", "paused"},
		TSV:   []string{"queue", "pending", "delayed", "claimed", "expired", "retrying", "dead", "oldest_seconds", "paused"}}
	if o.window.value != nil {
		s.Fields = render.FieldsOf(queue.Flow{})
		s.Table = []string{"queue", "pending", "claimed?", "expired?", "retrying?", "dead?", "in_per_second:IN/S", "out_per_second:OUT/S", "error_percent:ERR%",
			"wait_p95_seconds:WAIT?", "run_p95_seconds:RUN?", "forecast:DRAINS", "paused?"}
		s.TSV = []string{"queue", "pending", "in_per_second", "out_per_second", "error_percent", "wait_p50_seconds", "wait_p95_seconds",
			"run_p50_seconds", "run_p95_seconds", "drain_seconds", "forecast"}
	}
	return s
}

func (o *queuesOptions) rows(ctx context.Context, app *App, q *queue.Client, limit int, only []string) ([]any, error) {
	var rows []any
	if o.window.value == nil {
		list, err := q.Tallies(ctx, only, o.scan.exact)
		for _, t := range list {
			if app.table() {
				rows = append(rows, newTallyLine(t))
				continue
			}
			rows = append(rows, t)
		}
		return rows, err
	}
	list, err := q.Flows(ctx, only, *o.window.value, limit, o.scan.exact)
	for _, f := range list {
		if app.table() {
			rows = append(rows, newFlowLine(f))
			continue
		}
		rows = append(rows, f)
	}
	return rows, err
}
