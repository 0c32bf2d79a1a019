package cmd

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/todo"
)

func zero() time.Time { return time.Time{} }

// queueFlag adds -q, which means queue in every command.
func (a *App) queueFlag(c *cobra.Command, filter bool) *listFlag {
	l := &listFlag{check: todo.CheckQueue}
	text := "queue; repeat it or write a,b for several"
	if filter {
		text = "only this queue; repeat it or write a,b for several"
	}
	c.Flags().VarP(l, "queue", "q", text)
	_ = c.RegisterFlagCompletionFunc("queue", a.completeQueues)
	return l
}

// queues returns the queues that were named: by flag, variable or config file.
func (a *App) queues(c *cobra.Command) ([]string, error) {
	if l, ok := c.Flags().Lookup("queue").Value.(*listFlag); ok && len(l.values) > 0 {
		return distinctStrings(l.values), nil
	}
	list, err := a.Config.Strings("queue")
	if err != nil {
		return nil, err
	}
	for _, q := range list {
		if err := todo.CheckQueue(q); err != nil {
			return nil, asUsage(a.Config.Value("queue").Source, err)
		}
	}
	return distinctStrings(list), nil
}

func distinctStrings(list []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}
