package cmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
)

// completionTime is what a completion may cost; a slow database completes nothing.
const completionTime = 300 * time.Millisecond

const completionHelp = `Print the completion script of a shell. It completes commands, flags, states, and from the database the
names of queues and the ids of todos.`

const completionExample = `  todoctl completion bash > todoctl.bash
  todoctl completion zsh > _todoctl`

func newCompletion(app *App) *cobra.Command {
	c := &cobra.Command{
		Use: "completion bash|zsh|fish|powershell", Short: "Print the completion script of a shell",
		Long: completionHelp, Example: completionExample, GroupID: groupDatabase,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"}, DisableFlagsInUseLine: true,
		// A broken config file must not break the shell's start.
		PersistentPreRunE: func(*cobra.Command, []string) error { app.running = true; return nil },
		RunE: func(c *cobra.Command, args []string) error {
			root, out := c.Root(), app.Streams.Out
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			}
			return root.GenPowerShellCompletionWithDesc(out)
		},
	}
	return exitStatus(c)
}

// completeQueues completes names of queues.
func (a *App) completeQueues(c *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.complete(c, args, func(ctx context.Context, q *queue.Client) ([]queue.Name, error) { return q.Names(ctx, prefix) })
}

// completeIDs completes ids of todos. Every id begins alike, so at least that much must be typed.
func (a *App) completeIDs(c *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(prefix) < 3 && prefix != "td_"[:len(prefix)] {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.complete(c, args, func(ctx context.Context, q *queue.Client) ([]queue.Name, error) { return q.IDs(ctx, prefix) })
}

// complete asks the database, briefly and in silence: whatever goes wrong completes nothing.
func (a *App) complete(c *cobra.Command, args []string, ask func(context.Context, *queue.Client) ([]queue.Name, error)) ([]cobra.Completion, cobra.ShellCompDirective) {
	a.Flags.Quiet = true
	ctx := c.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	if a.Config == nil {
		if err := a.load(c); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
	q, err := a.Queue(ctx, "complete")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names, err := ask(ctx, q)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	used := map[string]bool{}
	for _, s := range args {
		used[s] = true
	}
	var out []cobra.Completion
	for _, n := range names {
		if !used[n.Text] {
			out = append(out, cobra.CompletionWithDesc(n.Text, render.Clean(n.Note)))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
