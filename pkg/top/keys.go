package top

import (
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

// help is what ? shows.
func help() []string {
	return []string{
		"1 2 3, tab       queues, leases, dead letters",
		"up down, k j     move by a row",
		"pgup pgdn        move by a screen; also ctrl+b, ctrl+f",
		"home end, g G    the first, the last",
		"enter            open: the todos of a queue or group, a todo",
		"esc, backspace   back; out of a filter",
		"/                filter the rows by a text; enter keeps it, esc drops it",
		"r                retry a group of dead letters, after asking",
		"?                this page",
		"q, ctrl+c        end",
		"",
		"READY can be claimed now, WAIT is delayed or backing off, RUN is leased,",
		"EXP are leases that ran out. IN/S and OUT/S are todos that came and that",
		"were completed in a second, as far as they were seen; the courses show",
		"READY and OUT/S, the newest at the right.",
	}
}

// key takes in a key.
func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch {
	case name == "ctrl+c":
		return tea.Quit
	case m.asking != nil:
		return m.answer(k)
	case m.typing:
		m.typed(k)
		return nil
	}
	if m.move(name) {
		return nil
	}
	if !m.wrong {
		m.said = ""
	}
	switch name {
	case "q":
		return tea.Quit
	case "?":
		if m.page != helpPage {
			m.before, m.page = m.page, helpPage
		}
	case "1", "2", "3":
		m.page = page(name[0] - '1')
	case "tab":
		m.page = (min(m.page, groupsPage) + 1) % todosPage
	case "esc", "backspace":
		m.back()
	case "/":
		m.typing = m.page <= todosPage
	case "enter":
		return m.enter()
	case "r":
		if g, ok := chosen(m, groupsPage, m.shownGroups()); ok && g.Fingerprint != nil {
			m.asking, m.phrase = &g, ""
		}
	}
	return nil
}

// move goes up and down; it is false for any other key.
func (m *Model) move(name string) bool {
	screen := max(1, m.height-4)
	at := m.at[m.page]
	switch name {
	case "up", "k":
		at--
	case "down", "j":
		at++
	case "pgup", "ctrl+b":
		at -= screen
	case "pgdown", "ctrl+f":
		at += screen
	case "home", "g":
		at = 0
	case "end", "G":
		at = m.rows() - 1
	default:
		return false
	}
	m.at[m.page] = max(0, min(at, m.rows()-1))
	return true
}

// back leaves a filter first, then a page that was opened from another.
func (m *Model) back() {
	switch {
	case m.page <= todosPage && m.filter[m.page] != "":
		m.filter[m.page] = ""
	case m.page == todosPage:
		m.page = m.from
	case m.page > todosPage:
		m.page = m.before
	}
}

// typed takes in a key of the filter.
func (m *Model) typed(k tea.KeyPressMsg) {
	f := m.filter[m.page]
	switch k.String() {
	case "enter":
		m.typing = false
	case "esc":
		m.typing, f = false, ""
	case "backspace":
		_, n := utf8.DecodeLastRuneInString(f)
		f = f[:len(f)-n]
	default:
		f += k.Text
	}
	m.filter[m.page], m.at[m.page] = f, 0
}

// answer takes in a key of the answer to whether a group is to be retried.
func (m *Model) answer(k tea.KeyPressMsg) tea.Cmd {
	g, want, yes := *m.asking, m.src.Phrase, false
	switch name := k.String(); {
	case name == "esc":
	case want == "":
		yes = name == "y" || name == "Y"
	case name == "enter":
		yes = m.phrase == want
	case name == "backspace":
		_, n := utf8.DecodeLastRuneInString(m.phrase)
		m.phrase = m.phrase[:len(m.phrase)-n]
		return nil
	default:
		m.phrase += k.Text
		return nil
	}
	m.asking = nil
	if !yes {
		m.said = "nothing was changed"
		return nil
	}
	m.said = "retrying " + render.Clean(*g.Fingerprint) + " ..."
	return m.retry(g)
}

// enter opens what is chosen.
func (m *Model) enter() tea.Cmd {
	switch m.page {
	case queuesPage:
		if q, ok := chosen(m, queuesPage, m.shownQueues()); ok {
			return m.list("queue "+q.Queue, queue.Filter{Queues: []string{q.Queue}, Conditions: []todo.Condition{todo.IsPending, todo.IsDelayed, todo.IsClaimed, todo.IsExpired, todo.IsRetrying}})
		}
	case leasesPage:
		if t, ok := chosen(m, leasesPage, m.shownLeases()); ok {
			return m.open(t.ID)
		}
	case groupsPage:
		if g, ok := chosen(m, groupsPage, m.shownGroups()); ok && g.Fingerprint != nil {
			return m.list("dead letters "+*g.Fingerprint, queue.Filter{Fingerprints: []string{*g.Fingerprint}, Conditions: []todo.Condition{todo.IsDead}})
		}
	case todosPage:
		if t, ok := chosen(m, todosPage, m.shownTodos()); ok {
			return m.open(t.ID)
		}
	}
	return nil
}

// chosen is the row that the bar is on.
func chosen[T any](m *Model, p page, rows []T) (row T, ok bool) {
	if m.page != p || len(rows) == 0 {
		return row, false
	}
	return rows[min(m.at[p], len(rows)-1)], true
}
