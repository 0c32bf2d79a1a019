package top

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// page is one of the things that fill the screen.
type page int

const (
	queuesPage page = iota
	leasesPage
	groupsPage
	todosPage
	todoPage
	helpPage
)

// Model is the state of the view.
type Model struct {
	ctx context.Context
	src Source

	width, height int
	page, before  page // before is where esc goes back to from todos, a todo, and help
	from          page // the page that todos were opened on
	at            map[page]int
	filter        map[page]string
	typing        bool // the filter
	asking        *queue.Group
	phrase        string // typed so far, where a phrase is asked for

	picture Picture
	course  map[string]*course
	groups  []queue.Group
	title   string // of todos
	todos   []todo.Todo
	todo    queue.Whole
	said    string // the last line: what happened, or what is wrong
	wrong   bool
	known   bool // there was a picture
	grouped bool
}

// New returns a view; ctx ends what it asks of its source.
func New(ctx context.Context, src Source) *Model {
	return &Model{ctx: ctx, src: src, width: 80, height: 24, at: map[page]int{}, filter: map[page]string{}, course: map[string]*course{}}
}

// Init asks for the first picture.
func (m *Model) Init() tea.Cmd { return tea.Batch(m.look(), m.regroup()) }

// Update takes in one message.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m, m.key(msg)
	case lookMsg:
		return m, m.look()
	case regroupMsg:
		return m, m.regroup()
	case pictureMsg:
		if m.fault(msg.err); msg.err == nil {
			m.take(msg.picture)
		}
		return m, tea.Tick(max(every, 4*msg.took), func(time.Time) tea.Msg { return lookMsg{} })
	case groupsMsg:
		if m.fault(msg.err); msg.err == nil {
			m.groups, m.grouped = msg.groups, true
		}
		return m, tea.Tick(max(everyGroups, 10*msg.took), func(time.Time) tea.Msg { return regroupMsg{} })
	case todosMsg:
		if m.fault(msg.err); msg.err == nil {
			m.title, m.todos = msg.title, msg.todos
			m.from, m.page, m.at[todosPage], m.filter[todosPage] = m.page, todosPage, 0, ""
		}
	case todoMsg:
		if m.fault(msg.err); msg.err == nil {
			m.todo, m.before, m.page, m.at[todoPage] = msg.todo, m.page, todoPage, 0
		}
	case retriedMsg:
		if m.fault(msg.err); msg.err == nil {
			m.said = msg.text
		}
		return m, m.regroup()
	}
	return m, nil
}

// fault shows an error in the last line, and takes it away when all is well again.
func (m *Model) fault(err error) {
	switch {
	case err != nil && m.ctx.Err() == nil:
		m.said, m.wrong = err.Error(), true
	case err == nil && m.wrong:
		m.said, m.wrong = "", false
	}
}

// take notes a picture and how depth and rates went on.
func (m *Model) take(p Picture) {
	seconds := p.Now.Sub(m.picture.Now).Seconds()
	for _, q := range p.Queues {
		c := m.course[q.Queue]
		if c == nil {
			c = &course{}
			m.course[q.Queue] = c
		}
		c.depth = note(c.depth, float64(q.Pending))
		if m.known && seconds > 0 {
			c.in = note(c.in, float64(p.Moves[q.Queue].In)/seconds)
			c.out = note(c.out, float64(p.Moves[q.Queue].Out)/seconds)
		}
	}
	m.picture, m.known = p, true
}

// View draws the screen.
func (m *Model) View() tea.View {
	v := tea.NewView(m.draw())
	v.AltScreen = true
	v.WindowTitle = "todoctl top"
	return v
}
