package queue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Transition is one change of one todo, as far as the tables tell it.
type Transition struct {
	At       todo.Time       `json:"at"`
	ID       string          `json:"id"`
	Queue    string          `json:"queue"`
	Kind     string          `json:"kind"`
	From     *todo.Condition `json:"from"` // null where it is not known; also of a new todo
	To       todo.Condition  `json:"to"`
	Owner    *string         `json:"owner"`
	Attempt  int             `json:"attempt"`
	LeaseSeq int             `json:"lease_seq"`
	Outcome  *string         `json:"outcome"` // of the lease that ended with it, where that is kept: failed, released, expired, buried
	Error    *string         `json:"error"`
}

const (
	tailSlack  = 2 * time.Second  // from the begin of a transaction to its first write
	tailSkew   = 5 * time.Second  // between the clocks of those who make ids and the server's
	tailOldest = 10 * time.Minute // how long a transaction that goes on is waited for
	tailAhead  = 10_000           // rows with a time to come that one look reads, in all queues
	tailKnown  = 100_000          // todos that are remembered
)

// Tail follows the transitions of todos by looking at the tables again and again. It holds no
// transaction. A look goes back to before the oldest transaction that still wrote at the look before, so
// that a commit that comes late is seen, unless the transaction takes longer than ten minutes.
type Tail struct {
	f      Filter
	back   time.Duration // from the first look
	start  time.Time     // nothing before this is told
	since  time.Time     // what the next look goes back to
	now    time.Time     // the server's clock at the last look
	looked time.Time     // this machine's clock then
	marks  []tailMark
	known  map[string]sighting
}

// tailMark is a look: when it was, and the first transaction that had not begun to write.
type tailMark struct {
	at   time.Time
	next int64
}

// NewTail returns a tail of what a filter matches, from so long before its first look. The filter's
// conditions are those that todos come to, its owners those who did it; its Since is not looked at.
func NewTail(f Filter, back time.Duration) *Tail {
	return &Tail{f: f, back: back, known: map[string]sighting{}}
}

// Look returns what happened since the look before, in the order of time. The first one only marks the
// beginning, unless it goes back. What only the clock changes is no transition: a delay that is over, a
// lease that ran out.
func (l *Tail) Look(ctx context.Context, c *Client) ([]Transition, error) {
	var now time.Time
	var oldest, next int64
	clock := step{name: "tail_clock", row: func(row pgx.CollectableRow) error { return row.Scan(&now, &oldest, &next) }}
	if l.start.IsZero() {
		if err := c.run(ctx, reads, func() []step { return []step{clock} }); err != nil {
			return nil, err
		}
		l.now, l.looked = now, time.Now()
		l.start = now.Add(-l.back)
		l.since = l.start.Add(-tailSlack)
	}
	var ids []string
	err := c.run(ctx, reads, func() []step {
		ids = nil
		return []step{clock, {name: "tail", args: l.args(), row: func(row pgx.CollectableRow) error {
			var id string
			var updated time.Time
			err := row.Scan(&id, &updated)
			if k, ok := l.known[id]; !ok || !k.updated.Equal(updated) {
				ids = append(ids, id)
			}
			return err
		}}}
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(ids)
	var list []Transition
	for _, part := range parts(ids) {
		some, err := l.read(ctx, c, part)
		if err != nil {
			return nil, err
		}
		list = append(list, some...)
	}
	l.move(now, oldest, next)
	slices.SortStableFunc(list, func(a, b Transition) int { x, _ := a.At.Time(); y, _ := b.At.Time(); return x.Compare(y) })
	return slices.DeleteFunc(list, l.unwanted), nil
}

func (l *Tail) args() pgx.StrictNamedArgs {
	newest := l.now.Add(time.Since(l.looked) + tailSkew)
	return pgx.StrictNamedArgs{"queues": orNull(l.f.Queues), "since": l.since, "ahead": tailAhead,
		"fresh": idFrom(l.since.Add(-tailSkew)), "newest": idFrom(newest)}
}

// idFrom is where the ids begin that were made from a moment on: a UUIDv7 begins with the time in
// milliseconds, in hexadecimal.
func idFrom(at time.Time) string {
	ms := at.UnixMilli()
	return fmt.Sprintf("td_%08x-%04x", ms>>16, ms&0xFFFF)
}

// move sets what the next look goes back to: the last look at which the oldest transaction that still
// writes had not begun to.
func (l *Tail) move(now time.Time, oldest, next int64) {
	l.now, l.looked = now, time.Now()
	l.marks = append(l.marks, tailMark{now, next})
	for len(l.marks) > 1 && (l.marks[1].next <= oldest || now.Sub(l.marks[0].at) > tailOldest) {
		l.marks = l.marks[1:]
	}
	l.since = l.marks[0].at.Add(-tailSlack)
	if len(l.known) > tailKnown {
		for id, k := range l.known {
			if k.updated.Before(l.since) {
				delete(l.known, id)
			}
		}
	}
}

// read reads some todos with the leases of theirs that ended, and tells what became of them.
func (l *Tail) read(ctx context.Context, c *Client, ids []string) ([]Transition, error) {
	f := l.f
	f.Conditions, f.Owners, f.Since, f.Until = nil, nil, Moment{}, Moment{}
	var rows []sight
	ended := map[string][]todo.Attempt{}
	args := f.walkArgs("", len(ids), len(ids), ids, false)
	err := c.run(ctx, reads, func() []step {
		rows = nil
		clear(ended)
		return []step{
			{name: "tail_attempts", args: pgx.StrictNamedArgs{"ids": ids, "since": l.since}, row: func(row pgx.CollectableRow) error {
				var id string
				var a todo.Attempt
				err := row.Scan(&id, &a.LeaseSeq, &a.Attempt, &a.Owner, &a.ClaimedAt, &a.EndedAt, &a.Outcome, &a.Error)
				ended[id] = append(ended[id], a)
				return err
			}},
			{name: "list", args: args, row: func(row pgx.CollectableRow) error {
				t, x, err := scan(row)
				rows = append(rows, sight{t, x})
				return err
			}}}
	})
	if err != nil {
		return nil, err
	}
	var list []Transition
	for _, r := range rows {
		if r.matched != nil && *r.matched {
			list = append(list, l.tell(r.todo, ended[r.todo.ID])...)
		}
	}
	return list, nil
}

// unwanted says whether the filter leaves a transition out, or it was before the beginning.
func (l *Tail) unwanted(t Transition) bool {
	at, _ := t.At.Time()
	return at.Before(l.start) ||
		len(l.f.Conditions) > 0 && !slices.Contains(l.f.Conditions, t.To) ||
		len(l.f.Owners) > 0 && (t.Owner == nil || !slices.Contains(l.f.Owners, *t.Owner))
}

// Now returns the server's clock at the last look.
func (l *Tail) Now() time.Time { return l.now }
