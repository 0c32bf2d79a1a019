package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/intake"
	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const importHelp = `Read what todoctl export wrote, todos with their history and events, and make them here as they were, after
asking: all lines, or none. What is there already is left as it is, so that an import can be repeated: a todo
with the same id counts as existing, one whose key a live todo has as superseded. A lease that was running comes
in as it was, and ends as it would have.

--rekey MARK makes a copy: new ids, and MARK put behind each key. The same mark makes the same ids, so that a
copy too is made once. -q takes everything into one queue.`

const importExample = `  todoctl export -q mail | todoctl import --yes -
  todoctl export -q mail --state dead | todoctl import --rekey -copy -q mail-test --yes -`

type importOptions struct {
	queue               listFlag
	reason              textFlag
	rekey, rejects      string
	skipInvalid, dryRun bool
	expect              int
}

func newImport(app *App) *cobra.Command {
	o := importOptions{queue: listFlag{check: todo.CheckQueue}}
	c := &cobra.Command{
		Use: "import FILE|-", Short: "Make todos of what export wrote", Long: importHelp, Example: importExample,
		GroupID: groupOperate, Args: cobra.ExactArgs(1), ValidArgsFunction: completeFiles,
		RunE: func(c *cobra.Command, args []string) error { return runImport(c, app, &o, args[0]) },
	}
	f := c.Flags()
	f.VarP(&o.queue, "queue", "q", "take everything into this queue")
	_ = c.RegisterFlagCompletionFunc("queue", app.completeQueues)
	f.StringVar(&o.rekey, "rekey", "", "make a copy: new ids, and this behind each key")
	f.BoolVar(&o.skipInvalid, "skip-invalid", false, "leave bad lines out (exit 7) instead of refusing them all")
	f.StringVar(&o.rejects, "rejects", "", "with --skip-invalid: keep the bad lines in FILE")
	f.IntVar(&o.expect, "expect", -1, "write nothing unless there are exactly so many")
	f.BoolVar(&o.dryRun, "dry-run", false, "read and count, and change nothing")
	f.Var(&o.reason, "reason", "why, for the journal")
	return exitStatus(c, database(todo.CodeData, todo.CodePartial, todo.CodeUnknown)...)
}

// options checks the flags.
func (o *importOptions) options(c *cobra.Command) (intake.ImportOptions, error) {
	opt := intake.ImportOptions{Options: intake.Options{SkipInvalid: o.skipInvalid, Expect: o.expect}, Rekey: o.rekey}
	queues := o.queue.values
	switch {
	case len(queues) > 1:
		return opt, usagef("--queue: todos go into one queue, not %d", len(queues))
	case o.rejects != "" && !o.skipInvalid:
		return opt, usagef("--rejects goes with --skip-invalid")
	case c.Flags().Changed("rekey") && o.rekey == "":
		return opt, usagef("--rekey: the mark is empty")
	case len(queues) == 1:
		opt.Queue = queues[0]
		return opt, asUsage("--queue", todo.CheckQueue(opt.Queue))
	}
	return opt, nil
}

// params are what the journal notes of it.
func (o *importOptions) params(file string) queue.ImportParams {
	p := queue.ImportParams{DryRun: o.dryRun, Reason: o.reason.value, Options: map[string]any{"file": file}}
	if o.rekey != "" {
		p.Options["rekey"] = o.rekey
	}
	if len(o.queue.values) > 0 {
		p.Options["queue"] = o.queue.values[0]
	}
	return p
}

func runImport(c *cobra.Command, app *App, o *importOptions, file string) error {
	ctx := c.Context()
	opt, err := o.options(c)
	if err != nil {
		return err
	}
	shape := render.Shape{Fields: render.FieldsOf(queue.ImportResult{}), TSV: []string{"created", "existing", "superseded", "invalid"}}
	if err := app.Check(shape); err != nil {
		return err
	}
	if err := app.target("import"); err != nil {
		return err
	}
	if file == "-" && !o.dryRun && !app.Flags.Yes {
		return usagef("not confirmed: standard input is what is read").WithHint("say --yes to do it, or --dry-run to see what it would do")
	}
	in, err := app.open("import", file)
	if err != nil {
		return err
	}
	defer in.Close()
	if !o.dryRun {
		if err := app.Confirm(ctx, fmt.Sprintf("import %s?", file)); err != nil {
			return err
		}
	}
	if o.rejects != "" {
		rejects, err := app.createRejects(o.rejects, in)
		if err != nil {
			return err
		}
		defer rejects.Close()
		opt.Rejects = rejects
	}
	lines := intake.NewImport(in, opt)
	q, err := app.Queue(ctx, "import")
	if err != nil {
		return err
	}
	p := app.progress("read")
	r, err := q.Import(ctx, func() (*queue.Imported, error) { p.at(lines.Lines()); return lines.Next() }, o.params(file))
	p.end()
	if err != nil {
		return err
	}
	if err := lines.Kept(); err != nil {
		return err
	}
	r.Lines, r.Invalid = r.Lines+lines.Invalid, lines.Invalid
	if err := app.Report(shape, r); err != nil {
		return err
	}
	if r.Created == 0 && r.Invalid == 0 && !o.dryRun {
		app.Note("nothing to do: %d of %d todos are there already, the keys of %d are taken", r.Existing, r.Lines, r.Superseded)
	}
	if r.Invalid > 0 {
		e := todo.Errorf(todo.CodePartial, "%d created, %d existing, %d superseded, %d invalid: %s", r.Created, r.Existing, r.Superseded, r.Invalid, lines.Summary())
		return e.With("lines", lines.Bad).With("invalid", r.Invalid)
	}
	return nil
}
