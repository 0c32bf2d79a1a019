// Package top is a live view of the queues that fills the terminal: queues with the course of their depth
// and rates, leases that run, groups of dead letters. It is a model of Bubble Tea and knows no database:
// what it shows comes from a Source. Text from outside is made harmless before it is shown.
package top

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// Source is where the view gets what it shows and does what it is told. Its functions are called from
// several goroutines; their errors are shown and the last picture stays.
type Source struct {
	Look   func(context.Context) (Picture, error)                                 // all but groups
	Groups func(context.Context) ([]queue.Group, error)                           // of dead letters, by the likeness of their errors
	Todos  func(context.Context, queue.Filter) ([]todo.Todo, error)               // the first of what a filter matches
	Todo   func(context.Context, string) (queue.Whole, error)                     // one, whole
	Retry  func(ctx context.Context, fingerprint string, n int64) (string, error) // a group; returns what came of it
	Phrase string                                                                 // what must be typed before a retry; "" is y
	Where  string                                                                 // which database, for the first line
	Color  bool
}

// Picture is how things stand at one moment of the server.
type Picture struct {
	Now    time.Time
	Queues []queue.Counts
	Leases []todo.Todo
	Moves  map[string]Moves // by queue, since the look before
}

// Moves counts transitions of a queue.
type Moves struct{ In, Out, Failed int }

// every is the pause between two looks at least; a look that takes long is waited after longer.
const (
	every       = time.Second
	everyGroups = 5 * time.Second
)

type (
	pictureMsg struct {
		picture Picture
		err     error
		took    time.Duration
	}
	groupsMsg struct {
		groups []queue.Group
		err    error
		took   time.Duration
	}
	todosMsg struct {
		title string
		todos []todo.Todo
		err   error
	}
	todoMsg struct {
		todo queue.Whole
		err  error
	}
	retriedMsg struct {
		text string
		err  error
	}
	lookMsg    struct{}
	regroupMsg struct{}
)

func (m *Model) look() tea.Cmd {
	return func() tea.Msg {
		begun := time.Now()
		p, err := m.src.Look(m.ctx)
		return pictureMsg{p, err, time.Since(begun)}
	}
}

func (m *Model) regroup() tea.Cmd {
	return func() tea.Msg {
		begun := time.Now()
		g, err := m.src.Groups(m.ctx)
		return groupsMsg{g, err, time.Since(begun)}
	}
}

func (m *Model) list(title string, f queue.Filter) tea.Cmd {
	return func() tea.Msg {
		list, err := m.src.Todos(m.ctx, f)
		return todosMsg{title, list, err}
	}
}

func (m *Model) open(id string) tea.Cmd {
	return func() tea.Msg {
		s, err := m.src.Todo(m.ctx, id)
		return todoMsg{s, err}
	}
}

func (m *Model) retry(g queue.Group) tea.Cmd {
	return func() tea.Msg {
		text, err := m.src.Retry(m.ctx, *g.Fingerprint, g.Count)
		return retriedMsg{text, err}
	}
}
