package cmd

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

const retryHelp = `Give dead letters a fresh budget of attempts: by id, or by filter after asking. Retrying todos come back at
once by id, or with --state retrying. One whose key a live todo has meanwhile is superseded: told, and left
dead. Without a filter say --all.

Many are better planned first: --plan writes what would be retried to a file, --apply carries that out in small
transactions. What changed since the plan is skipped. With --canary the first so many are moved and waited for
until each is done or has failed once; --stop-if ends it (exit 7) when too many failed. What a run that was
killed has done is in the journal: the same command goes on where it was, from any host.`

const retryExample = `  todoctl retry "$TODO_ID"
  todoctl retry -q mail --error 'timeout' --rate 5/s --yes
  todoctl retry --all --plan plan.jsonl && todoctl retry --apply plan.jsonl --rate 5/s --stop-if 'failed>10%' --yes`

func newRetry(app *App) *cobra.Command {
	var maxAttempts int
	var delay durationFlag
	var reason textFlag
	var o planFlags
	s := &sweep{verb: "retry", past: "retried", standard: []todo.Condition{todo.IsDead}}
	c := &cobra.Command{
		Use: "retry [ID...]", Short: "Give dead letters a fresh budget of attempts", Long: retryHelp, Example: retryExample,
		GroupID: groupOperate, Args: cobra.ArbitraryArgs, ValidArgsFunction: app.completeIDs,
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(c, s, args); err != nil {
				return err
			}
			if o.apply.value != nil {
				return o.applied(c.Context(), app, s.dryRun)
			}
			p := queue.RetryParams{Delay: delay.or(0), Reason: reason.value, Rate: o.rate.perSecond}
			if c.Flags().Changed("max-attempts") {
				if maxAttempts < 1 || maxAttempts > 1<<31-1 {
					return usagef("--max-attempts: %d is out of range: 1 to %d", maxAttempts, 1<<31-1)
				}
				p.MaxAttempts = &maxAttempts
			}
			retrying, err := s.retrying()
			if err != nil {
				return err
			}
			p.Retrying = retrying
			if o.plan.value != nil {
				return s.plan(c.Context(), app, p, *o.plan.value)
			}
			s.named = func(ctx context.Context, q *queue.Client, ids []string) ([]queue.Result, error) {
				return q.Retry(ctx, ids, p)
			}
			s.matched = func(ctx context.Context, q *queue.Client, f queue.Filter, progress func(queue.Sweep)) (queue.Sweep, error) {
				return q.RetryAll(ctx, f, p, progress)
			}
			return s.run(c, app, args)
		},
	}
	s.filters = app.filterFlags(c, true)
	s.flags(c)
	c.Flags().IntVar(&maxAttempts, "max-attempts", 0, "new attempt cap; the old one where not given")
	c.Flags().Var(&delay, "delay", "not to be claimed before so long from now")
	o.flags(c)
	c.Flags().Var(&reason, "reason", "why, for the journal")
	return exitStatus(c, database(todo.CodeConflict, todo.CodeNotFound, todo.CodeData, todo.CodePartial, todo.CodeUnknown)...)
}

// retrying says whether the filter asks for retrying todos, and refuses states that cannot be retried.
func (s *sweep) retrying() (bool, error) {
	states := s.filters.state.values
	for _, name := range states {
		if name != string(todo.IsDead) && name != string(todo.IsRetrying) {
			return false, usagef("--state: %s todos cannot be retried", name).WithHint("retry takes --state dead or --state retrying")
		}
	}
	if len(states) > 1 && slices.Contains(states, string(todo.IsDead)) && slices.Contains(states, string(todo.IsRetrying)) {
		return false, usagef("--state: retry takes dead or retrying, one at a time")
	}
	return slices.Contains(states, string(todo.IsRetrying)), nil
}
