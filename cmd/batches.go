package cmd

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

// batch is how many of the ids that a verb is given are one transaction, and one piece of the answer.
const batch = 1000

// batches runs a verb on many todos, and prints what became of each, in order, as soon as its batch is
// done. When a later batch fails the answers of the earlier ones are out already, and the error says how many they are.
func (a *App) batches(verb string, receipts []todo.Receipt, run func([]todo.Receipt) ([]queue.Result, error)) error {
	w, err := a.Answer(resultShape(true), time.Time{})
	if err != nil {
		return err
	}
	sum := tally{verb: verb, app: a}
	p := a.progress("todos")
	defer p.end()
	var fault error
	for part := range slices.Chunk(receipts, batch) {
		list, err := run(part)
		if err != nil {
			fault = sum.broken(err, len(receipts))
			break
		}
		sum.add(list)
		p.at(sum.total)
		if a.Flags.Quiet {
			continue
		}
		for _, row := range a.resultRows(list) {
			if err := w.Row(row); err != nil {
				return err
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	p.end()
	if !a.Flags.Quiet {
		if err := w.Close(); err != nil {
			return errors.Join(fault, err)
		}
	}
	if fault != nil {
		return fault
	}
	return sum.err()
}

// tally counts the refusals of a verb on several todos.
type tally struct {
	verb                               string
	app                                *App
	total, refused, conflict, notFound int
}

// add counts some results, and tells each refusal unless the answer already carries it.
func (t *tally) add(list []queue.Result) {
	t.total += len(list)
	for _, r := range list {
		if r.Error == nil {
			continue
		}
		t.refused++
		switch r.Error.Code {
		case todo.CodeConflict:
			t.conflict++
		case todo.CodeNotFound:
			t.notFound++
		}
		if !t.app.json() && t.refused <= 20 {
			render.Warning(t.app.Streams.Err, r.Error.Message, false)
		}
	}
}

// err is the error that the refusals add up to.
func (t *tally) err() error {
	if t.refused == 0 {
		return nil
	}
	code := todo.CodePartial
	if t.refused == t.total {
		code = todo.CodeConflict
		if t.notFound == t.refused {
			code = todo.CodeNotFound
		}
	}
	e := todo.Errorf(code, "%s: %d of %d done, %d in conflict, %d not found", t.verb, t.total-t.refused, t.total, t.conflict, t.notFound)
	return e.With("done", t.total-t.refused).With("conflict", t.conflict).With("not_found", t.notFound)
}

// broken adds to the error that ended a batch how many todos came before it.
func (t *tally) broken(err error, all int) error {
	var e *todo.Error
	if t.total == 0 || !errors.As(err, &e) {
		return err
	}
	told := *e
	told.Message = fmt.Sprintf("%s: the first %d of %d are answered, then: %s", t.verb, t.total, all, e.Message)
	return told.With("answered", t.total)
}
