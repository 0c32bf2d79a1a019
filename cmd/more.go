package cmd

import (
	"context"
	"errors"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// noteMore tells a person how many todos lie beyond the table.
func (a *App) noteMore(ctx context.Context, q *queue.Client, f queue.Filter, after string) error {
	more := 0
	var scanned queue.Scanned
	for _, err := range q.List(ctx, f, queue.Page{After: after, Limit: moreLimit, Bounded: true, Line: true}, &scanned) {
		if err != nil {
			return err
		}
		more++
	}
	switch {
	case more == moreLimit:
		a.Note("over %d more; --limit N shows more, --after %s goes on", more, after)
	case more > 0:
		a.Note("%d more; --limit N shows more, --after %s goes on", more, after)
	}
	return nil
}

// filterFault makes a usage error of a regular expression that the server cannot read.
func filterFault(err error) error {
	var e *todo.Error
	if errors.As(err, &e) && e.Details["sqlstate"] == "2201B" {
		return usagef("--error: %s", e.Message).WithHint("it is a POSIX regular expression; quote it for the shell")
	}
	return err
}
