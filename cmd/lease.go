package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/intake"
	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

func (a *App) ownerFlag(c *cobra.Command) {
	c.Flags().String("owner", "", "who holds the lease; needed with bare ids, checked with receipts where it is named")
}

// lease runs a verb of the lease holder on the ids that the command line or standard input names.
func (a *App) lease(c *cobra.Command, verb string, args []string, force bool, run func(*queue.Client, queue.LeaseParams) ([]queue.Result, error)) error {
	owner, named, err := a.Owner()
	if err != nil {
		return err
	}
	if force && c.Flags().Changed("owner") {
		return usagef("--force acts whoever holds the lease; --owner does not go with it")
	}
	receipts, many, err := a.receipts(args)
	if err != nil {
		return err
	}
	if err := a.Check(resultShape(many)); err != nil {
		return err
	}
	if force && len(receipts) > 0 {
		if err := a.guard(c.Context(), verb, fmt.Sprintf("%s %d todos, whoever holds them?", verb, len(receipts))); err != nil {
			return err
		}
	}
	q, err := a.Queue(c.Context(), verb)
	if err != nil {
		return err
	}
	some := func(part []todo.Receipt) ([]queue.Result, error) {
		return run(q, queue.LeaseParams{Receipts: part, Owner: owner, Named: named, Force: force})
	}
	if many {
		return a.batches(verb, receipts, some)
	}
	list, err := some(receipts)
	if err != nil {
		return err
	}
	return a.results(verb, list, false)
}

// resultFlag reads --result: JSON, @FILE or -.
func (a *App) resultFlag(c *cobra.Command, args []string) (*string, error) {
	if !c.Flags().Changed("result") {
		return nil, nil
	}
	text := c.Flags().Lookup("result").Value.String()
	if text == "-" && len(args) == 1 && args[0] == "-" {
		return nil, usagef("--result and the ids cannot both be read from standard input")
	}
	raw, err := a.value("--result", text, intake.MaxLine)
	if err != nil {
		return nil, err
	}
	if err := intake.CheckJSON([]byte(raw)); err != nil {
		return nil, payloadFault("--result", err).(*todo.Error).WithHint("the todo was not touched")
	}
	return &raw, nil
}
