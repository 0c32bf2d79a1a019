package cmd

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/intake"
	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// filters are the flags that select todos, the same in every command that takes them. They come from
// the command line alone, and an empty value is refused: it never means "no filter".
type filters struct {
	queue                                    *listFlag
	state                                    listFlag
	kinds, sources, owners, assignees, keys  wordFlag
	fingerprints                             wordFlag
	errorText, payload                       textFlag
	since, until, createdSince, createdUntil textFlag
	minAttempt, scanLimit                    int
	cmd                                      *cobra.Command
}

func (a *App) filterFlags(c *cobra.Command, state bool) *filters {
	x := &filters{cmd: c, queue: a.queueFlag(c, true)}
	f := c.Flags()
	if state {
		x.state.check = func(s string) error { _, err := conditions(s); return err }
		f.Var(&x.state, "state", "pending, delayed, claimed, expired, retrying, done, dead; or failed, live, all")
		_ = c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(stateNames(), cobra.ShellCompDirectiveNoFileComp))
	}
	f.Var(&x.kinds, "kind", "only this kind")
	f.Var(&x.sources, "source", "only from this source")
	f.Var(&x.owners, "held-by", "only under a lease of this owner")
	f.Var(&x.assignees, "assignee", "only assigned to this owner")
	f.Var(&x.keys, "key", "only with this idempotency key")
	f.Var(&x.errorText, "error", "only where the error matches this regular expression (reads up to --scan-limit rows)")
	f.Var(&x.fingerprints, "fingerprint", "only failures with this fingerprint")
	f.Var(&x.fingerprints, "fp", "short for --fingerprint")
	f.Var(&x.since, "since", "only what is in its condition since then: RFC 3339, or a duration back from now")
	f.Var(&x.until, "until", "only what came into its condition before then")
	f.Var(&x.createdSince, "created-since", "only created since then")
	f.Var(&x.createdUntil, "created-until", "only created before then")
	f.IntVar(&x.minAttempt, "min-attempt", 0, "only with at least so many attempts")
	f.Var(&x.payload, "payload", "only where the payload contains this JSON (reads up to --scan-limit rows)")
	f.IntVar(&x.scanLimit, "scan-limit", queue.DefaultScanLimit, "rows to read at most for what has no index")
	return x
}

// given says whether any filter was given.
func (x *filters) given() bool {
	for _, name := range []string{"queue", "state", "kind", "source", "held-by", "assignee", "key", "error", "fingerprint", "fp", "since",
		"until", "created-since", "created-until", "min-attempt", "payload"} {
		if f := x.cmd.Flags().Lookup(name); f != nil && f.Changed {
			return true
		}
	}
	return false
}

// filter returns what the flags select; without --state the given conditions.
func (x *filters) filter(standard ...todo.Condition) (queue.Filter, error) {
	f := queue.Filter{Queues: x.queue.values, Conditions: standard, Kinds: x.kinds.values, Sources: x.sources.values, Owners: x.owners.values,
		Assignees: x.assignees.values, Keys: x.keys.values, Fingerprints: x.fingerprints.values, Error: x.errorText.value,
		Payload: x.payload.value, ScanLimit: x.scanLimit}
	if len(x.state.values) > 0 {
		f.Conditions = nil
		for _, s := range x.state.values {
			some, err := conditions(s)
			if err != nil {
				return f, asUsage("--state", err)
			}
			f.Conditions = append(f.Conditions, some...)
		}
	}
	if x.cmd.Flags().Changed("min-attempt") {
		if x.minAttempt < 0 {
			return f, usagef("--min-attempt: %d is negative", x.minAttempt)
		}
		f.MinAttempt = &x.minAttempt
	}
	if x.scanLimit < 1 {
		return f, usagef("--scan-limit: %d is not a number of rows", x.scanLimit)
	}
	if f.Payload != nil {
		if err := intake.CheckJSON([]byte(*f.Payload)); err != nil {
			return f, usagef("--payload: %v", err)
		}
	}
	for flag, m := range map[string]struct {
		text *string
		to   *queue.Moment
	}{"--since": {x.since.value, &f.Since}, "--until": {x.until.value, &f.Until},
		"--created-since": {x.createdSince.value, &f.CreatedSince}, "--created-until": {x.createdUntil.value, &f.CreatedUntil}} {
		var err error
		if *m.to, err = moment(flag, m.text); err != nil {
			return f, err
		}
	}
	return f, nil
}

// conditions reads a value of --state.
func conditions(s string) ([]todo.Condition, error) {
	switch s {
	case "all":
		return todo.Conditions(), nil
	case "live":
		return live(), nil
	case "failed":
		return []todo.Condition{todo.IsRetrying, todo.IsDead}, nil
	}
	for _, c := range todo.Conditions() {
		if string(c) == s {
			return []todo.Condition{c}, nil
		}
	}
	e := todo.Errorf(todo.CodeUsage, "%q is not one of %s", s, strings.Join(stateNames(), ", "))
	if near := todo.Nearest(s, stateNames()); near != "" {
		return nil, e.WithHint("did you mean %s?", near)
	}
	return nil, e
}

func live() []todo.Condition {
	return []todo.Condition{todo.IsPending, todo.IsDelayed, todo.IsClaimed, todo.IsExpired, todo.IsRetrying}
}

func stateNames() []string {
	var names []string
	for _, c := range todo.Conditions() {
		names = append(names, string(c))
	}
	return append(names, "failed", "live", "all")
}
