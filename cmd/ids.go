package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

// receipts reads ids and receipts from the arguments, or from standard input where the one argument
// is "-". many says that the command line asks for a list, whatever it holds.
func (a *App) receipts(args []string) (list []todo.Receipt, many bool, err error) {
	if len(args) == 1 && args[0] == "-" {
		a.noteTerminal()
		list, err = a.receiptLines()
		return list, true, err
	}
	seen := map[string]bool{}
	for _, s := range args {
		if s == "-" {
			return nil, true, usagef("- stands for all ids and is the only argument then")
		}
		r, err := todo.ParseReceipt(s)
		if err != nil {
			return nil, true, err
		}
		if !seen[r.ID] {
			seen[r.ID] = true
			list = append(list, r)
		}
	}
	return list, len(args) > 1, nil
}

// receiptLines reads one id or receipt a line: trimmed, blank lines passed over, each once.
func (a *App) receiptLines() ([]todo.Receipt, error) {
	var list []todo.Receipt
	var bad []string
	seen := map[string]bool{}
	in := bufio.NewScanner(a.Streams.In)
	for n := 1; in.Scan(); n++ {
		line := strings.TrimSpace(in.Text())
		if line == "" {
			continue
		}
		r, err := todo.ParseReceipt(line)
		if err != nil {
			bad = append(bad, fmt.Sprintf("line %d: %v", n, err))
			continue
		}
		if !seen[r.ID] {
			seen[r.ID] = true
			list = append(list, r)
		}
	}
	if err := in.Err(); errors.Is(err, bufio.ErrTooLong) {
		bad = append(bad, "a line is too long to be an id")
	} else if err != nil {
		return nil, todo.Errorf(todo.CodeInternal, "read standard input: %v", err)
	}
	if len(bad) > 0 {
		text := strings.Join(bad[:min(len(bad), 20)], "; ")
		if len(bad) > 20 {
			text += fmt.Sprintf("; and %d more", len(bad)-20)
		}
		return nil, todo.Errorf(todo.CodeData, "%s; nothing was changed", text).WithHint("give one id or receipt a line")
	}
	return list, nil
}

func ids(list []todo.Receipt) []string {
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = r.ID
	}
	return out
}

func resultShape(many bool) render.Shape {
	return render.Shape{Many: many, Fields: render.FieldsOf(queue.Result{}),
		Table: []string{"id", "queue", "condition", "owner", "attempt", "lease_expires_at", "next_retry_at", "error"},
		TSV:   []string{"id", "condition", "attempt", "owner", "error"}}
}

// resultLine is a result where there is one line for each: of a refusal it has the message alone.
type resultLine struct {
	queue.Result
	Error *string `json:"error"`
}

// resultRows are the rows of an answer. Ids and receipts go on into the next command, so they are those
// of the todos that were not refused.
func (a *App) resultRows(list []queue.Result) []any {
	form := a.Config.Value("output").Text
	var rows []any
	for _, r := range list {
		switch {
		case a.json():
			rows = append(rows, r)
		case r.Error == nil:
			rows = append(rows, resultLine{Result: r})
		case form != render.ID && form != render.Receipt:
			rows = append(rows, resultLine{r, &r.Error.Message})
		}
	}
	return rows
}

// results prints what a verb did to each named todo, and returns the error that the refusals add up to.
func (a *App) results(verb string, list []queue.Result, many bool) error {
	shape := resultShape(many)
	if !many {
		if len(list) == 1 && list[0].Error != nil {
			return list[0].Error
		}
		if len(list) == 0 {
			return nil
		}
		if list[0].Already {
			a.Note("%s had been done before, with the same receipt", verb)
		}
		return a.Report(shape, a.resultRows(list)...)
	}
	if err := a.Report(shape, a.resultRows(list)...); err != nil {
		return err
	}
	sum := tally{verb: verb, app: a}
	sum.add(list)
	return sum.err()
}
