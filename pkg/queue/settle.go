package queue

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Completion is one todo to be acknowledged, with a result (JSON) of its own or none.
type Completion struct {
	Receipt todo.Receipt // with its lease_seq
	Result  *string
}

// CompleteEach acknowledges todos by receipt, each with its own result, as Complete does.
func (c *Client) CompleteEach(ctx context.Context, list []Completion) ([]Result, error) {
	receipts := make([]todo.Receipt, len(list))
	for i, l := range list {
		receipts[i] = l.Receipt
	}
	changed := newAnswers(len(list))
	for _, part := range parts(list) {
		ids, seqs, results := make([]string, len(part)), make([]int, len(part)), make([]*string, len(part))
		for i, l := range part {
			ids[i], seqs[i], results[i] = l.Receipt.ID, l.Receipt.Seq, l.Result
		}
		known := changed.len()
		err := c.run(ctx, repeats, func() []step {
			changed.cut(known)
			return []step{{name: "complete_each", args: pgx.StrictNamedArgs{"ids": ids, "seqs": seqs, "results": results}, row: changed.keep()},
				notify(ids, nil)}
		})
		if err != nil {
			return nil, err
		}
	}
	return c.results(ctx, "complete", LeaseParams{}, receipts, changed, ended{state: todo.Done})
}

// SetProgress notes how far the workers of some leases are, in percent by receipt.
func (c *Client) SetProgress(ctx context.Context, percents map[todo.Receipt]int) error {
	var ids []string
	var seqs, values []int
	for r, n := range percents {
		ids, seqs, values = append(ids, r.ID), append(seqs, r.Seq), append(values, n)
	}
	return c.run(ctx, repeats, func() []step {
		return []step{{name: "progress", args: pgx.StrictNamedArgs{"ids": ids, "seqs": seqs, "percents": values}}}
	})
}
