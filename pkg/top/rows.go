package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

// keep returns the rows in which the filter's text stands, whatever the case of its letters.
func keep[T any](rows []T, filter string, words func(T) string) []T {
	if filter == "" {
		return rows
	}
	var some []T
	for _, r := range rows {
		if strings.Contains(strings.ToLower(words(r)), strings.ToLower(filter)) {
			some = append(some, r)
		}
	}
	return some
}

func (m *Model) shownQueues() []queue.Counts {
	return keep(m.picture.Queues, m.filter[queuesPage], func(q queue.Counts) string { return q.Queue })
}

func (m *Model) shownLeases() []todo.Todo {
	return keep(m.picture.Leases, m.filter[leasesPage], todoWords)
}
func (m *Model) shownTodos() []todo.Todo { return keep(m.todos, m.filter[todosPage], todoWords) }

func (m *Model) shownGroups() []queue.Group {
	return keep(m.groups, m.filter[groupsPage], func(g queue.Group) string {
		return text(g.Fingerprint) + " " + strings.Join(g.Queues, " ") + " " + strings.Join(g.Kinds, " ") + " " + text(g.Sample)
	})
}

func todoWords(t todo.Todo) string {
	return strings.Join([]string{t.ID, t.Queue, t.Kind, t.Title, string(t.Condition), text(t.Owner), text(t.Error)}, " ")
}

// queueRow is a queue in 80 columns or more: what the terminal has beyond goes to the name and the courses.
func (m *Model) queueRow(q queue.Counts) string {
	name, course := m.queueWidths()
	c := m.course[q.Queue]
	label := q.Queue
	if q.Paused {
		label = "‖ " + label // a sign, not color alone
	}
	cells := []string{render.Cell(label, name), right(about(q.Pending, q.LiveEstimated), 7), right(count(q.Delayed+q.Retrying), 6), right(count(q.Claimed), 5),
		right(count(q.Expired), 4), right(about(q.Dead, q.DeadEstimated), 6), right(rate(recent(c.in)), 6), right(rate(recent(c.out)), 6),
		spark(c.depth, course), spark(c.out, course)}
	return strings.Join(cells, " ")
}

func (m *Model) queueHead() string {
	name, course := m.queueWidths()
	return strings.Join([]string{render.Cell("QUEUE", name), right("READY", 7), right("WAIT", 6), right("RUN", 5), right("EXP", 4),
		right("DEAD", 6), right("IN/S", 6), right("OUT/S", 6), render.Cell("READY", course), render.Cell("OUT/S", course)}, " ")
}

func (m *Model) queueWidths() (name, course int) {
	const fixed = 40 + 9 // the numbers, and a space between any two
	left := max(0, m.width-fixed)
	course = min(60, max(5, left/4))
	return max(8, left-2*course), course
}

func (m *Model) leaseRow(t todo.Todo) string {
	wide := max(0, m.width-39-7-5-4)
	return strings.Join([]string{render.Cell(t.ID, 39), render.Cell(t.Queue, wide/2), render.Cell(text(t.Owner), wide-wide/2),
		right(left(t.LeaseExpiresAt, m.picture.Now), 7), right(fmt.Sprintf("%d/%d", t.Attempt, t.MaxAttempts), 5)}, " ")
}

func (m *Model) leaseHead() string {
	wide := max(0, m.width-39-7-5-4)
	return strings.Join([]string{render.Cell("ID", 39), render.Cell("QUEUE", wide/2), render.Cell("OWNER", wide-wide/2), right("LEFT", 7), right("TRY", 5)}, " ")
}

func (m *Model) groupRow(g queue.Group) string {
	last := ""
	if at, ok := g.Last.Time(); ok && m.known {
		last = render.Age(at, m.picture.Now)
	}
	return strings.Join([]string{render.Cell(text(g.Fingerprint), 12), right(count(g.Count), 7), right(last, 5), render.Cell(strings.Join(g.Queues, ","), 14),
		render.Cell(text(g.Sample), max(10, m.width-42))}, " ")
}

func (m *Model) groupHead() string {
	return strings.Join([]string{render.Cell("FINGERPRINT", 12), right("COUNT", 7), right("LAST", 5), render.Cell("QUEUES", 14), render.Cell("SAMPLE", max(10, m.width-42))}, " ")
}

func (m *Model) todoRow(t todo.Todo) string {
	what := t.Title
	if t.Error != nil && (t.State == todo.Failed || what == "") {
		what = *t.Error
	}
	return strings.Join([]string{render.Cell(t.ID, 39), render.Cell(string(t.Condition), 8), right(fmt.Sprintf("%d/%d", t.Attempt, t.MaxAttempts), 5),
		render.Cell(what, max(10, m.width-55))}, " ")
}

func (m *Model) todoHead() string {
	return strings.Join([]string{render.Cell("ID", 39), render.Cell("STATE", 8), right("TRY", 5), render.Cell("ABOUT", max(10, m.width-55))}, " ")
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// right fills a number up at its left; it is never cut.
func right(s string, n int) string { return strings.Repeat(" ", max(0, n-len(s))) + s }

// count writes a number in five characters at most.
// about marks an estimate.
func about(n int64, estimated bool) string {
	if estimated {
		return "~" + count(n)
	}
	return count(n)
}

func count(n int64) string {
	switch {
	case n < 100_000:
		return fmt.Sprint(n)
	case n < 10_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%dM", n/1_000_000)
}

// rate writes a number of todos in a second.
func rate(f float64) string {
	if f == 0 || f >= 99.95 {
		return count(int64(f + 0.5))
	}
	return fmt.Sprintf("%.1f", f)
}

// left is how long a lease still runs.
func left(at todo.Time, now time.Time) string {
	t, ok := at.Time()
	if !ok {
		return at.String()
	}
	d := max(0, t.Sub(now)).Round(time.Second)
	if d >= time.Hour {
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return d.String()
}
