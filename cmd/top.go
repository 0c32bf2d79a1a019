package cmd

import (
	"context"
	"errors"
	"fmt"
	"sync"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
	"github.com/todoctl/todoctl/pkg/top"
)

const topHelp = `Watch the queues live, in the whole terminal: queues with the course of their depth and rates, leases that run,
groups of dead letters. Arrows move, enter opens a queue, a group or a todo, / filters, r retries a group after
asking, ? shows all keys, q ends. It looks once a second, less often where a look takes long, and holds no
transaction in between. The terminal is as it was afterwards, also when a signal ends it.

It needs a terminal; elsewhere use queues, or tail.`

const topExample = `  todoctl top || echo 'not at a terminal'
  todoctl top -q mail,billing || echo 'not at a terminal'`

func newTop(app *App) *cobra.Command {
	c := &cobra.Command{
		Use: "top", Short: "Watch the queues live, in the whole terminal", Long: topHelp, Example: topExample,
		GroupID: groupInspect, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
	}
	queues := app.queueFlag(c, true)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if !app.Streams.InTTY || !app.Streams.OutTTY || app.Getenv("TERM") == "dumb" {
			return usagef("top needs a terminal").WithHint("todoctl queues prints the numbers once, todoctl tail what happens")
		}
		if v := app.Config.Value("output"); v.Source == "--output" || app.Flags.JQ != "" || len(app.Flags.Fields) > 0 {
			return usagef("top fills a terminal and has no other output").WithHint("todoctl queues -o json prints the numbers once")
		}
		return app.runTop(c.Context(), queues.values)
	}
	return exitStatus(c, database()...)
}

// runTop shows the view until q or a signal ends it, in order.
func (a *App) runTop(ctx context.Context, queues []string) error {
	q, err := a.Queue(ctx, "top")
	if err != nil {
		return err
	}
	if _, err := q.Names(ctx, ""); err != nil { // what is wrong from the beginning is told as by any command
		return err
	}
	s := &topSource{app: a, queues: queues, looks: q, counts: q.Sibling(), acts: q.Sibling(), tail: queue.NewTail(queue.Filter{Queues: queues}, 0)}
	defer s.acts.Close()
	defer s.counts.Close()
	if s.keys, err = a.secretKeys(); err != nil {
		return err
	}
	where, err := a.where("top")
	if err != nil {
		return err
	}
	name, err := a.production()
	if err != nil {
		return err
	}
	if a.Flags.Yes {
		name = "" // y is asked for all the same: a key is pressed sooner than a command is typed
	}
	asks, stop := context.WithCancel(ctx)
	defer stop()
	m := top.New(asks, top.Source{Look: s.look, Groups: s.groups, Todos: s.todos, Todo: s.todo, Retry: s.retry, Phrase: name,
		Where: where, Color: a.renderOptions(zero()).Color})
	p := tea.NewProgram(m, tea.WithInput(a.Streams.In), tea.WithOutput(a.Streams.Out), tea.WithEnvironment(a.Env), tea.WithoutSignalHandler())
	defer context.AfterFunc(ctx, p.Quit)()
	_, err = p.Run()
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return interrupted(ctx)
	case err != nil:
		return todo.Errorf(todo.CodeInternal, "the view: %v", err)
	}
	return nil
}

// topSource asks the database for the view: looks on one connection, groups on another, what a person asks
// for on a third, so that what takes long does not stop the picture. Of looks and of groups one runs at a time.
type topSource struct {
	app    *App
	queues []string
	keys   []string // whose values are taken out
	looks  *queue.Client
	tail   *queue.Tail
	counts *queue.Client

	grouping, acting sync.Mutex
	acts             *queue.Client
}

func (s *topSource) look(ctx context.Context) (top.Picture, error) {
	p := top.Picture{Moves: map[string]top.Moves{}}
	moves, err := s.tail.Look(ctx, s.looks)
	if err != nil {
		return p, err
	}
	for _, t := range moves {
		m := p.Moves[t.Queue]
		switch {
		case t.From == nil && t.LeaseSeq == 0:
			m.In++
		case t.To == todo.IsDone:
			m.Out++
		case t.To == todo.IsDead || t.To == todo.IsRetrying:
			m.Failed++
		}
		p.Moves[t.Queue] = m
	}
	p.Now = s.tail.Now()
	if p.Queues, err = s.looks.Queues(ctx, s.queues, 0); err != nil {
		return p, err
	}
	p.Leases, err = s.looks.Leased(ctx, s.queues, 200)
	return p, err
}

func (s *topSource) groups(ctx context.Context) ([]queue.Group, error) {
	s.grouping.Lock() // a retry asks for them too
	defer s.grouping.Unlock()
	return s.counts.Groups(ctx, queue.Filter{Queues: s.queues}, queue.GroupBy{Error: true}, 200)
}

func (s *topSource) todos(ctx context.Context, f queue.Filter) ([]todo.Todo, error) {
	s.acting.Lock()
	defer s.acting.Unlock()
	if len(f.Queues) == 0 {
		f.Queues = s.queues
	}
	var list []todo.Todo
	for t, err := range s.acts.List(ctx, f, queue.Page{Limit: 200}, &queue.Scanned{}) {
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

func (s *topSource) todo(ctx context.Context, id string) (queue.Whole, error) {
	s.acting.Lock()
	defer s.acting.Unlock()
	t, err := s.acts.Show(ctx, id)
	redactWhole(&t, s.keys)
	return t, err
}

// retry brings a group back, as the command does by filter.
func (s *topSource) retry(ctx context.Context, fingerprint string, _ int64) (string, error) {
	s.acting.Lock()
	defer s.acting.Unlock()
	f := queue.Filter{Queues: s.queues, Fingerprints: []string{fingerprint}, Conditions: []todo.Condition{todo.IsDead}}
	r, err := s.acts.RetryAll(ctx, f, queue.RetryParams{}, nil)
	if err != nil {
		return "", err
	}
	return render.Clean(fmt.Sprintf("retried %d of %d, %d superseded", r.Changed, r.Matched, r.Superseded)), nil
}
