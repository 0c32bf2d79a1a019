package cmd

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

// planFlags are the flags of a retry that is planned first and carried out later.
type planFlags struct {
	plan, apply textFlag
	canary      int
	wait        durationFlag
	rate        rateFlag
	stop        stopFlag
}

func (o *planFlags) flags(c *cobra.Command) {
	f := c.Flags()
	f.Var(&o.rate, "rate", "at most so many: 5/s, 300/m, 1000/h")
	f.Var(&o.plan, "plan", "write what would be retried to FILE, and change nothing")
	f.Var(&o.apply, "apply", "retry what the plan in FILE has, and go on where an earlier run ended")
	f.IntVar(&o.canary, "canary", 0, "with --apply: move so many first, and wait until they have ended")
	f.Var(&o.wait, "canary-timeout", "the longest wait for them (default 10m)")
	f.Var(&o.stop, "stop-if", "with --apply: stop when so many have failed: failed>10% of those that ended, or failed>5")
	_ = c.RegisterFlagCompletionFunc("rate", cobra.NoFileCompletions)
}

// check refuses flags that do not go together.
func (o *planFlags) check(c *cobra.Command, s *sweep, args []string) error {
	given := func(names ...string) string {
		for _, name := range names {
			if c.Flags().Changed(name) {
				return name
			}
		}
		return ""
	}
	switch {
	case o.plan.value != nil && o.apply.value != nil:
		return usagef("--plan writes a plan and --apply carries one out; one at a time")
	case o.plan.value != nil && len(args) > 0:
		return usagef("--plan takes filters, not ids")
	case o.plan.value != nil && s.dryRun:
		return usagef("--plan changes nothing; --dry-run does not go with it")
	case o.apply.value != nil && (len(args) > 0 || s.all || s.filters.given()):
		return usagef("--apply takes what the plan has; ids, filters and --all do not go with it")
	case o.apply.value != nil && given("max-attempts", "delay", "reason") != "":
		return usagef("--%s is part of the plan; give it with --plan", given("max-attempts", "delay", "reason"))
	case o.plan.value != nil && given("rate") != "":
		return usagef("--rate goes with --apply, not with --plan")
	case o.apply.value == nil && given("canary", "canary-timeout", "stop-if") != "":
		return usagef("--%s goes with --apply", given("canary", "canary-timeout", "stop-if"))
	case given("canary") != "" && o.canary < 1:
		return usagef("--canary: %d is not a number of todos", o.canary)
	}
	return nil
}

// applied carries a plan out.
func (o *planFlags) applied(ctx context.Context, app *App, dry bool) error {
	shape := render.Shape{Fields: render.FieldsOf(queue.Applied{}), ID: "op", Table: append(sweepShape().TSV, "already"), TSV: append(sweepShape().TSV, "already")}
	if err := app.Check(shape); err != nil {
		return err
	}
	p, err := openPlan(*o.apply.value)
	if err != nil {
		return err
	}
	defer p.file.Close()
	if err := app.target("retry"); err != nil {
		return err
	}
	question := fmt.Sprintf("retry the %d todos of %s?", p.todos, p.name)
	if !dry && !app.Flags.Yes && (!app.Streams.InTTY || !app.Streams.ErrTTY) {
		return app.Confirm(ctx, question)
	}
	q, err := app.Queue(ctx, "retry")
	if err != nil {
		return err
	}
	here, err := q.Identity(ctx)
	if err != nil {
		return err
	}
	if here != p.Database {
		return usagef("%s was made for another database: %s of cluster %s, schema %s; this is %s of cluster %s, schema %s", p.name,
			p.Database.Database, p.Database.System, p.Database.Schema, here.Database, here.System, here.Schema).
			WithHint("name the right one with --profile or --database-url, or make a new plan here")
	}
	if !dry {
		if err := app.Confirm(ctx, question); err != nil {
			return err
		}
	}
	g := app.progress("retried")
	a, err := q.ApplyRetry(ctx, queue.ApplyParams{Plan: p.RetryPlan, Next: p.next, Canary: o.canary, CanaryTimeout: o.wait.or(10 * time.Minute),
		Rate: o.rate.perSecond, Stop: o.stop.stops, DryRun: dry}, func(s queue.Sweep) { g.at(s.Changed) })
	g.end()
	if err != nil {
		if a.Changed > 0 {
			app.Warn("before it ended: %d of %d moved; the same command goes on", a.Changed+a.Already, p.todos)
		}
		return err
	}
	if err := app.Report(shape, a); err != nil {
		return err
	}
	if a.Stopped != nil {
		return todo.Errorf(todo.CodePartial, "stopped: %s; %d of %d todos are moved", *a.Stopped, a.Changed+a.Already, p.todos).With("stopped", *a.Stopped).
			WithHint("the same command goes on where it is; todoctl undo %s puts back what has not moved since", p.Op)
	}
	return app.faults(a.Sweep)
}

// faults returns the error of a verb that had to leave rows out.
func (a *App) faults(s queue.Sweep) error {
	if s.Errors == 0 {
		return nil
	}
	return todo.Errorf(todo.CodePartial, "%s: %d of %d done, %d left out because of faults of their own", s.Verb, s.Changed, s.Matched, s.Errors).
		With("done", s.Changed).With("errors", s.Errors)
}

// rateFlag is a number of todos in a second, minute or hour.
type rateFlag struct {
	text      string
	perSecond float64
}

func (r *rateFlag) String() string { return r.text }
func (r *rateFlag) Type() string   { return "rate" }

// Set parses 5/s, 300/m, 1000/h.
func (r *rateFlag) Set(text string) error {
	m := regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)/([smh])$`).FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%q is not a rate; write 5/s, 300/m or 1000/h", text)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	per := map[string]float64{"s": 1, "m": 60, "h": 3600}[m[2]]
	if err != nil || n/per < 1.0/3600 || n > 1e9 {
		return fmt.Errorf("%q is not between 1/h and 1000000000/s", text)
	}
	r.text, r.perSecond = text, n/per
	return nil
}

// stopFlag is a condition on how many have failed.
type stopFlag struct {
	text  string
	stops func(failed, ended int) bool
}

func (s *stopFlag) String() string { return s.text }
func (s *stopFlag) Type() string   { return "condition" }

// Set parses failed>10%, failed>=3.
func (s *stopFlag) Set(text string) error {
	m := regexp.MustCompile(`^\s*failed\s*(>=?)\s*([0-9]+(?:\.[0-9]+)?)(%?)\s*$`).FindStringSubmatch(text)
	if m == nil {
		return fmt.Errorf("%q is not a condition; write 'failed>10%%' or 'failed>5', in quotes for the shell", text)
	}
	limit, err := strconv.ParseFloat(m[2], 64)
	if err != nil || m[3] == "%" && limit > 100 {
		return fmt.Errorf("%q is out of range", text)
	}
	s.text, s.stops = text, func(failed, ended int) bool {
		value, most := float64(failed), limit
		if m[3] == "%" {
			value, most = 100*value, limit*float64(ended)
		}
		return failed > 0 && (value > most || m[1] == ">=" && value == most)
	}
	return nil
}
