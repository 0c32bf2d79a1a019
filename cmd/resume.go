package cmd

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/todo"
)

const resumeHelp = `Let claims take from queues again. A queue that is not paused is left as it is, and changed is false.`

const resumeExample = `  todoctl resume mail
  todoctl resume mail billing -o json`

func newResume(app *App) *cobra.Command {
	var reason textFlag
	c := &cobra.Command{
		Use: "resume QUEUE...", Short: "Let claims take from queues again", Long: resumeHelp, Example: resumeExample,
		GroupID: groupOperate, Args: cobra.MinimumNArgs(1), ValidArgsFunction: app.completeQueues,
		RunE: func(c *cobra.Command, args []string) error {
			queues, err := queueArgs(args)
			if err != nil {
				return err
			}
			shape := pausedShape(len(queues) > 1)
			if err := app.Check(shape); err != nil {
				return err
			}
			if err := app.guard(c.Context(), "resume", "resume "+strings.Join(queues, ", ")+"?"); err != nil {
				return err
			}
			q, err := app.Queue(c.Context(), "resume")
			if err != nil {
				return err
			}
			list, err := q.Resume(c.Context(), queues, reason.value)
			if err != nil {
				return err
			}
			return app.reportPaused(shape, list)
		},
	}
	c.Flags().Var(&reason, "reason", "why, for the journal")
	return exitStatus(c, database(todo.CodeUnknown)...)
}
