package cmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

// A plan file is JSON lines: the plan, then each todo in the order of the ids, then how many there are, by which a file that
// was cut short is known.

// planHead is the first line.
type planHead struct {
	Kind    string `json:"todoctl_plan"`
	Version int    `json:"version"`
	queue.RetryPlan
}

// planEnd is the last line.
type planEnd struct {
	End *int `json:"end"`
}

const planVersion = 1

// retryCounts is the answer of a dry run, and of a plan that was written.
type retryCounts struct {
	queue.Sweep
	Groups []queue.KindCount `json:"groups"`
}

func (a *App) retryCountsShape() render.Shape {
	if a.tables() {
		return render.Shape{Many: true, Fields: render.FieldsOf(queue.KindCount{}), ID: "queue"}
	}
	return render.Shape{Fields: render.FieldsOf(retryCounts{}), ID: "op", TSV: append(sweepShape().TSV, "groups")}
}

// reportCounts prints what a retry would change, by queue and kind.
func (a *App) reportCounts(groups []queue.KindCount) (matched int, err error) {
	var rows []any
	for _, g := range groups {
		matched += g.Count
		rows = append(rows, g)
	}
	if !a.tables() {
		rows = []any{retryCounts{queue.Sweep{Verb: "retry", Matched: matched}, groups}}
	}
	return matched, a.Report(a.retryCountsShape(), rows...)
}

// tables says that the answer is a table.
func (a *App) tables() bool {
	f := a.Config.Value("output").Text
	return a.Flags.JQ == "" && (f == render.Table || f == render.Wide || f == "" && a.Streams.OutTTY)
}

// plan writes the plan of a retry by filter to a file, and changes nothing.
func (s *sweep) plan(ctx context.Context, app *App, p queue.RetryParams, name string) error {
	if !s.all && !s.filters.given() {
		return usagef("retry --plan: no filter").WithHint("name filters, or say --all to mean all")
	}
	f, err := s.filters.filter(s.standard...)
	if err != nil {
		return err
	}
	if err := app.Check(app.retryCountsShape()); err != nil {
		return err
	}
	if err := app.target(s.verb); err != nil {
		return err
	}
	q, err := app.Queue(ctx, s.verb)
	if err != nil {
		return err
	}
	head, err := q.NewRetryPlan(ctx, f, p)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(name), ".todoctl-plan-*")
	if err != nil {
		return usagef("--plan: %v", err)
	}
	defer os.Remove(file.Name()) // once it has its name there is nothing to remove
	defer file.Close()
	groups, err := writePlan(ctx, app, q, f, head, file)
	if err != nil {
		return filterFault(err)
	}
	if err := errors.Join(file.Sync(), file.Close(), os.Rename(file.Name(), name)); err != nil {
		return todo.Errorf(todo.CodeInternal, "write plan: %v", err)
	}
	matched, err := app.reportCounts(groups)
	if err == nil {
		app.noteUnknownQueues(ctx, q, f, matched)
		app.Note("todoctl retry --apply %s moves them", name)
	}
	return err
}

// writePlan streams the todos into the file as they are read.
func writePlan(ctx context.Context, app *App, q *queue.Client, f queue.Filter, head queue.RetryPlan, file io.Writer) ([]queue.KindCount, error) {
	out := bufio.NewWriter(file)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(planHead{"retry", planVersion, head}); err != nil {
		return nil, todo.Errorf(todo.CodeInternal, "write plan: %v", err)
	}
	n, p := 0, app.progress("read")
	var scanned queue.Scanned
	groups, err := q.Counts(ctx, f, &scanned, func(t queue.PlannedTodo) error {
		n++
		p.at(n)
		return lines.Encode(t)
	})
	p.end()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(lines.Encode(planEnd{&n}), out.Flush()); err != nil {
		return nil, todo.Errorf(todo.CodeInternal, "write plan: %v", err)
	}
	if scanned.Short {
		app.Warn("stopped after %d rows (--scan-limit); there may be more", f.ScanLimit)
	}
	return groups, nil
}

// planFile is a plan that is read.
type planFile struct {
	planHead
	name  string
	todos int
	file  *os.File
	in    *bufio.Reader
	line  int
}

// openPlan reads a plan to its end, so that one that is broken moves nothing, and goes back to its first todo.
func openPlan(name string) (*planFile, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, usagef("--apply: %v", err)
	}
	p := &planFile{name: name, file: file}
	if err := p.whole(); err != nil {
		file.Close()
		return nil, err
	}
	return p, nil
}

// whole counts the todos, and goes back to the first.
func (p *planFile) whole() error {
	err := p.rewind()
	for err == nil {
		_, err = p.next()
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	p.todos = p.line - 2
	return p.rewind()
}

func (p *planFile) rewind() error {
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return usagef("--apply: %s is no file that can be read twice: %v", p.name, err)
	}
	p.in, p.line = bufio.NewReaderSize(p.file, 1<<20), 0
	if err := p.read(&p.planHead); err != nil {
		return err
	}
	if p.Kind != "retry" || p.Version != planVersion || p.Op == "" {
		return p.bad("it is no plan that this todoctl knows")
	}
	return nil
}

// next returns the next todo, io.EOF after the last.
func (p *planFile) next() (queue.PlannedTodo, error) {
	var t struct {
		queue.PlannedTodo
		planEnd
	}
	switch err := p.read(&t); {
	case err != nil:
		return t.PlannedTodo, err
	case t.End != nil && *t.End == p.line-2:
		return t.PlannedTodo, io.EOF
	case t.End != nil:
		return t.PlannedTodo, p.bad("it ends after %d todos, and says %d", p.line-2, *t.End)
	case t.ID == "" || t.UpdatedAt.IsNull():
		return t.PlannedTodo, p.bad("it names no todo")
	}
	return t.PlannedTodo, nil
}

func (p *planFile) read(v any) error {
	line, err := p.in.ReadSlice('\n')
	p.line++
	switch {
	case errors.Is(err, io.EOF):
		return p.bad("the plan is cut short")
	case err != nil:
		return p.bad("%v", err)
	}
	if err := json.Unmarshal(line, v); err != nil {
		return p.bad("%v", err)
	}
	return nil
}

func (p *planFile) bad(format string, args ...any) error {
	return todo.Errorf(todo.CodeData, "%s, line %d: "+format, append([]any{p.name, p.line}, args...)...).
		WithHint("write it with todoctl retry --plan FILE")
}
