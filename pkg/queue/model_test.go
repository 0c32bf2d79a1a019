package queue

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/todoctl/todoctl/pkg/todo"
)

// The model's clock. Verbs wait and lease by the hour; each step is a tick later than the last, and a
// microsecond is what the statements put between rows of one step. A test takes far less than an hour.
const (
	micro = int64(1)
	tick  = int64(1) << 20
	hour  = int64(1) << 40
	never = int64(math.MaxInt64)
)

// past is a lease that ended otherwise than in completion.
type past struct {
	seq, attempt   int
	owner, outcome string
	error          string
}

// item is a todo as the contract has it. Empty strings and zero times stand for null.
type item struct {
	id, queue, key, assignee, owner, error string
	state                                  todo.State
	seq, attempt, max                      int
	run, lease, retry, claimed, completed  int64
	history                                []past
}

// model is the contract of section 2, in the plainest words: every verb walks over all todos.
type model struct {
	now    int64
	items  []*item // in order of their ids
	paused map[string]int64
}

func (m *model) find(id string) *item {
	for _, t := range m.items {
		if t.id == id {
			return t
		}
	}
	return nil
}

func (t *item) available() int64 {
	switch {
	case t.state == todo.Pending:
		return t.run
	case t.state == todo.Claimed:
		return t.lease
	case t.state == todo.Failed && t.retry != 0:
		return t.retry
	}
	return never
}

func (t *item) live() bool { return t.available() != never }
func (t *item) dead() bool { return t.state == todo.Failed && t.retry == 0 }

func (m *model) due(t *item) bool { return t.available() <= m.now }

func (m *model) condition(t *item) todo.Condition {
	switch {
	case t.dead():
		return todo.IsDead
	case t.state == todo.Failed:
		return todo.IsRetrying
	case t.state == todo.Pending && !m.due(t):
		return todo.IsDelayed
	case t.state == todo.Claimed && m.due(t):
		return todo.IsExpired
	}
	return todo.Condition(t.state)
}

func (m *model) holder(queue, key string) *item {
	for _, t := range m.items {
		if key != "" && t.live() && t.queue == queue && t.key == key {
			return t
		}
	}
	return nil
}

func (t *item) past(outcome, text string) {
	t.history = append(t.history, past{t.seq, t.attempt, t.owner, outcome, text})
}

func (m *model) die(t *item) {
	t.state, t.lease, t.retry, t.completed = todo.Failed, 0, 0, m.now
}

func (t *item) wait(run int64) {
	t.state, t.owner, t.lease, t.retry, t.claimed, t.completed, t.run = todo.Pending, "", 0, 0, 0, 0, run
}

// claim leases a due todo, or buries it at its cap.
func (m *model) claim(t *item, owner string, ttl int64) {
	spent := t.attempt >= t.max
	if t.state == todo.Claimed {
		t.past(map[bool]string{true: "expired", false: "taken over"}[spent], "lease expired")
	}
	if spent {
		t.error = "lease expired"
		m.die(t)
		return
	}
	t.state, t.owner, t.lease, t.retry, t.claimed, t.completed = todo.Claimed, owner, m.now+ttl, 0, m.now, 0
	t.attempt++
	t.seq++
}

// reap returns a due todo to pending, or buries it at its cap.
func (m *model) reap(t *item) (was todo.State, done bool) {
	was = t.state
	if !m.due(t) || was == todo.Pending {
		return was, false
	}
	if was == todo.Claimed {
		t.past("expired", "lease expired")
		t.error = "lease expired"
	}
	if t.attempt >= t.max {
		m.die(t)
	} else {
		t.wait(t.run)
	}
	return was, true
}

// chosen returns what one claim statement takes, in order. Equal times are in no order: what the
// database touched comes first then, and of that what it buried.
func (m *model) chosen(p ClaimParams, n int, touched map[string]bool) []*item {
	type group struct {
		place int
		mine  bool
		list  []*item
		free  int // of them not touched
	}
	var groups []*group
	for place, q := range p.Queues {
		for _, mine := range []bool{true, false} {
			g := &group{place: place, mine: mine}
			for _, t := range m.items {
				fits := t.queue == q && m.due(t) && m.paused[q] <= m.now
				if fits && (mine && t.assignee == p.Owner || !mine && t.assignee == "") {
					g.list = append(g.list, t)
					if !touched[t.id] {
						g.free++
					}
				}
			}
			slices.SortStableFunc(g.list, func(a, b *item) int {
				return cmp.Or(cmp.Compare(a.available(), b.available()), first(touched[a.id], touched[b.id]), first(a.attempt >= a.max, b.attempt >= b.max))
			})
			if len(g.list) > 0 {
				groups = append(groups, g)
			}
		}
	}
	slices.SortStableFunc(groups, func(a, b *group) int {
		place := 0
		if p.Strict {
			place = cmp.Compare(a.place, b.place)
		}
		return cmp.Or(place, first(a.mine, b.mine), cmp.Compare(a.list[0].available(), b.list[0].available()), cmp.Compare(a.free, b.free))
	})
	var out []*item
	for _, g := range groups {
		out = append(out, g.list...)
	}
	return out[:min(n, len(out))]
}

func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// claims does what Claim does: while the answer is short it asks again, and rids the head of the queues
// of todos at their cap.
func (m *model) claims(p ClaimParams, ttl int64, touched map[string]bool) []string {
	var got []string
	for len(got) < p.Limit {
		list := m.chosen(p, p.Limit-len(got), touched)
		if len(list) == 0 {
			break
		}
		before := len(got)
		for _, t := range list {
			m.claim(t, p.Owner, ttl)
			if t.state == todo.Claimed {
				got = append(got, t.id)
			}
		}
		if len(got)-before < len(list) && len(got) < p.Limit {
			for _, t := range m.items {
				if slices.Contains(p.Queues, t.queue) && (t.assignee == "" || t.assignee == p.Owner) && m.due(t) && t.attempt >= t.max && m.paused[t.queue] <= m.now {
					m.reap(t)
				}
			}
		}
	}
	return got
}

// held says whether a lease is the one that a holder's verb names.
func (t *item) held(r todo.Receipt, p LeaseParams) bool {
	return t.state == todo.Claimed && (r.Seq == 0 || t.seq == r.Seq) && (p.Force || r.Seq != 0 && !p.Named || t.owner == p.Owner)
}

// missed says how a holder's verb is refused, or that it had been done before.
func (t *item) missed(r todo.Receipt, p LeaseParams, state todo.State, outcome string) todo.Code {
	for _, h := range t.history {
		if r.Seq != 0 && h.seq == r.Seq {
			if state != "" && h.outcome == outcome && (!p.Named || h.owner == p.Owner) {
				return "already"
			}
			return todo.CodeConflict
		}
	}
	if r.Seq != 0 && state == todo.Done && t.state == todo.Done && t.seq == r.Seq && (!p.Named || t.owner == p.Owner) {
		return "already"
	}
	return todo.CodeConflict
}

// retries gives todos a fresh budget. Of the dead with one key the newest lives, and none while a live one has it.
func (m *model) retries(ids []string, dead, retrying bool, attempts int, delay int64) map[string]bool {
	done, taken := map[string]bool{}, map[string]bool{}
	for _, t := range slices.Backward(m.items) {
		if !slices.Contains(ids, t.id) || t.state != todo.Failed {
			continue
		}
		if t.dead() {
			name := t.queue + " " + t.key
			if !dead || t.key != "" && (taken[name] || m.holder(t.queue, t.key) != nil) {
				continue
			}
			taken[name] = true
		} else if !retrying {
			continue
		}
		done[t.id] = true
	}
	for _, t := range m.items {
		if done[t.id] {
			t.wait(m.now + delay)
			t.attempt = 0
			if attempts > 0 {
				t.max = attempts
			}
		}
	}
	return done
}

// text shows every row as the database is asked to show it: times in hours from now.
func (m *model) text() string {
	at := func(v int64) string {
		if v == 0 {
			return "-"
		}
		return fmt.Sprint(int64(math.Round(float64(v-m.now) / float64(hour))))
	}
	null := func(s string) string { return cmp.Or(s, "-") }
	var lines []string
	for _, t := range m.items {
		line := strings.Join([]string{t.id, t.queue, null(t.key), null(t.assignee), string(t.state), null(t.owner),
			fmt.Sprint(t.seq, t.attempt, t.max), null(t.error), at(t.run), at(t.lease), at(t.retry), at(t.claimed), at(t.completed)}, " ")
		for _, h := range t.history {
			line += fmt.Sprintf(" | %d %d %s %s %s", h.seq, h.attempt, null(h.owner), h.outcome, null(h.error))
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
