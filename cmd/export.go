package cmd

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
)

const exportHelp = `Write todos with their history and the event that they came from, one JSON object a line, for todoctl import to
read: into another database, another queue, or back. Without --state it takes todos in every condition. All are
as they were at one moment; the server keeps that moment's rows until the end, so write to a file, not to a
slow reader.

--redact takes the values of the named keys out of payloads, results and events, at any depth.`

const exportExample = `  todoctl export -q mail --state dead >mail-dead.jsonl
  todoctl export --redact password,token | todoctl import --dry-run -`

func newExport(app *App) *cobra.Command {
	var redact listFlag
	var x *filters
	c := &cobra.Command{
		Use: "export", Short: "Write todos with history and events as JSON lines", Long: exportHelp, Example: exportExample,
		GroupID: groupOperate, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			f, err := x.filter()
			if err != nil {
				return err
			}
			return runExport(c, app, f, redact.values)
		},
	}
	x = app.filterFlags(c, true)
	c.Flags().Var(&redact, "redact", "take out the values of these keys")
	return exitStatus(c, database()...)
}

// exportFields are the members of an exported line: those of show, without what the clock and the rest
// of the row say, so that one todo is always the same line.
func exportFields() []string {
	return slices.DeleteFunc(render.FieldsOf(queue.Shown{}), func(name string) bool {
		return name == "receipt" || name == "condition" || name == "available_at"
	})
}

func runExport(c *cobra.Command, app *App, f queue.Filter, redact []string) error {
	if v := app.Config.Value("output"); v.Source == "--output" && v.Text != render.JSONL {
		return usagef("--output: export writes jsonl, not %s", v.Text)
	}
	if app.Flags.JQ != "" || len(app.Flags.Fields) > 0 {
		return usagef("--fields and --jq do not go with export, which writes whole todos").WithHint("pipe it into jq, or use list -o jsonl")
	}
	o := app.renderOptions(zero())
	o.Format, o.Fields = render.JSONL, exportFields()
	w, err := render.New(app.Streams.Out, render.Shape{Many: true, Fields: o.Fields}, o)
	if err != nil {
		return err
	}
	q, err := app.Queue(c.Context(), "export")
	if err != nil {
		return err
	}
	var scanned queue.Scanned
	n, p := 0, app.progress("exported")
	err = q.Export(c.Context(), f, &scanned, func(s queue.Shown) error {
		n++
		p.at(n)
		redactShown(&s, redact)
		return w.Row(s)
	})
	p.end()
	if err != nil {
		return filterFault(err)
	}
	if err := w.Close(); err != nil {
		return err
	}
	if scanned.Short {
		app.Warn("stopped after %d rows (--scan-limit); there may be more", f.ScanLimit)
	}
	app.Note("%d todos", n)
	return nil
}
