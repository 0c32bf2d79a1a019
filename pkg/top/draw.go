package top

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

// draw is the whole screen: a line on top, a head, the rows, and a line at the bottom, none wider than
// the terminal.
func (m *Model) draw() string {
	head, rows, bar := m.body()
	room := max(1, m.height-3)
	at := min(m.at[m.page], max(0, len(rows)-1))
	first := 0
	if bar { // the bar stays on the screen
		first = max(0, min(at-room/2, len(rows)-room))
	} else {
		first = max(0, min(at, len(rows)-room))
	}
	lines := []string{m.bold(m.top()), m.faint(render.Cell(head, m.width))}
	for i := range room {
		line := ""
		if n := first + i; n < len(rows) {
			line = render.Cell(rows[n], m.width)
			if bar && n == at {
				line = "\x1b[7m" + line + "\x1b[0m"
			} else if m.src.Color {
				line = m.paint(line)
			}
		}
		lines = append(lines, line)
	}
	if m.height > 3 {
		lines = append(lines, m.bottom(len(rows)))
	}
	return strings.Join(lines[:min(len(lines), max(1, m.height))], "\n")
}

// body is the head and the rows of the page, and whether a bar shows the chosen one.
func (m *Model) body() (head string, rows []string, bar bool) {
	switch m.page {
	case queuesPage:
		return m.queueHead(), each(m.shownQueues(), m.queueRow), true
	case leasesPage:
		return m.leaseHead(), each(m.shownLeases(), m.leaseRow), true
	case groupsPage:
		return m.groupHead(), each(m.shownGroups(), m.groupRow), true
	case todosPage:
		return m.todoHead(), each(m.shownTodos(), m.todoRow), true
	case todoPage:
		return m.todo.ID, m.details(), false
	}
	return "KEYS", help(), false
}

func each[T any](list []T, row func(T) string) []string {
	rows := make([]string, len(list))
	for i, v := range list {
		rows[i] = row(v)
	}
	return rows
}

// rows is how many rows the page has.
func (m *Model) rows() int {
	_, rows, _ := m.body()
	return len(rows)
}

// top says where one is.
func (m *Model) top() string {
	names := []string{"1 queues", "2 leases", "3 dead letters"}
	for i := range names {
		if page(i) == m.page || page(i) == m.from && m.page >= todosPage && m.page != helpPage {
			names[i] = "[" + names[i] + "]"
		}
	}
	line := "todoctl top  " + strings.Join(names, "  ")
	if m.page == todosPage {
		line += "  " + m.title
	}
	if m.known {
		line += "  " + m.picture.Now.Local().Format("15:04:05")
	}
	return render.Cell(line+"  "+m.src.Where, m.width)
}

// bottom asks, or says what happened, or what can be done.
func (m *Model) bottom(rows int) string {
	switch filter := m.filter[m.page]; {
	case m.asking != nil && m.src.Phrase != "":
		return m.bold(render.Cell(fmt.Sprintf("production: type %s to retry %d of %s: %s", m.src.Phrase, m.asking.Count, *m.asking.Fingerprint, m.phrase), m.width))
	case m.asking != nil:
		return m.bold(render.Cell(fmt.Sprintf("retry %d dead letters of %s? [y/N]", m.asking.Count, *m.asking.Fingerprint), m.width))
	case m.typing:
		return render.Cell("/"+filter+"_", m.width)
	case m.said != "":
		return m.bold(render.Cell(m.said, m.width))
	case !m.known, m.page == groupsPage && !m.grouped:
		return render.Cell("looking ...", m.width)
	case filter != "" && m.page <= todosPage:
		return render.Cell(fmt.Sprintf("%d rows with %q; esc drops the filter", rows, filter), m.width)
	}
	return m.faint(render.Cell("? keys   enter open   / filter   r retry a group   q end", m.width))
}

// details is a todo in full.
func (m *Model) details() []string {
	t := m.todo
	var lines []string
	add := func(name, value string) {
		if value == "" {
			return
		}
		for i, line := range render.Lines(value, max(10, m.width-16)) {
			if i > 0 {
				name = ""
			}
			lines = append(lines, render.Cell(name, 15)+" "+line)
		}
	}
	add("queue", t.Queue)
	add("kind", t.Kind)
	add("source", t.Source)
	add("title", t.Title)
	add("condition", string(t.Condition))
	add("key", text(t.IdempotencyKey))
	add("assignee", text(t.Assignee))
	add("owner", text(t.Owner))
	add("attempt", fmt.Sprintf("%d of %d, lease %d", t.Attempt, t.MaxAttempts, t.LeaseSeq))
	for _, at := range []struct {
		name string
		at   todo.Time
	}{{"created", t.CreatedAt}, {"claimed", t.ClaimedAt}, {"lease ends", t.LeaseExpiresAt}, {"retry at", t.NextRetryAt}, {"ended", t.CompletedAt}} {
		add(at.name, at.at.String())
	}
	add("error", text(t.Error))
	add("payload", pretty(t.Payload))
	if t.Result != nil {
		add("result", pretty(*t.Result))
	}
	for _, a := range t.History {
		add(fmt.Sprintf("lease %d", a.LeaseSeq), strings.TrimSpace(a.Outcome+" "+a.EndedAt.String()+" "+text(a.Owner)+"\n"+text(a.Error)))
	}
	if t.Event != nil {
		add("event", t.Event.ID+" "+t.Event.Source+"\n"+pretty(t.Event.Payload))
	}
	return lines
}

func pretty(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

func (m *Model) bold(s string) string { return "\x1b[1m" + s + "\x1b[0m" }

func (m *Model) faint(s string) string { return "\x1b[2m" + s + "\x1b[0m" }

// paint colors the words that tell how things stand; the word is there without color as well.
func (m *Model) paint(line string) string {
	for word, code := range map[string]string{" dead ": "31", " expired ": "33", " retrying ": "33", " claimed ": "36"} {
		line = strings.Replace(line, word, "\x1b["+code+"m"+word+"\x1b[0m", 1)
	}
	return line
}
