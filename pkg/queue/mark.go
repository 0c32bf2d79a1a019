package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// A claim begins at the oldest entry of the pool index, and a transaction that somebody left open keeps
// the entries of all that was completed since: 500,000 of them cost each claim 40 ms. So a look that had
// to walk far leaves a mark, below which the next ones do not look, and every few seconds one looks at
// everything again. A todo that comes to lie below a mark (released, reaped, committed late) is late by
// those seconds and never lost: no claim answers that there is nothing before it looked at everything.
const (
	markHeld  = 5 * time.Second        // how long a client goes by its own mark
	markTable = 2 * time.Second        // how long others go by it
	markLag   = 200 * time.Millisecond // a mark stays so far behind the clock, for transactions that commit later than they began
	markSaved = time.Second            // a client writes no oftener, unless it looked at everything
	markAgain = time.Second            // how old a look at everything may be for a caller who asks again at once
)

// walkedFar is how many pages of the pool index make a look a slow one. They hold some 20,000 entries, over which
// the server needs about 2 ms; time itself says too little on a machine that does other things too.
const walkedFar = 100

// mark is what a client knows of where the next claim of some queues may begin.
type mark struct {
	queues string    // what it is for
	read   bool      // what others left in the table was asked for
	low    time.Time // the server's clock; zero: look at everything
	whole  time.Time // when everything was last looked at, by this machine's clock
	saved  time.Time // when the table was last written
	stored time.Time // what the table holds, as far as this client knows
	far    int       // walkedFar, but for tests
	heads  heads     // where there are many queues
}

// look is what one claim statement saw.
type look struct {
	bounded bool
	some    bool      // of many queues only those with the oldest heads
	oldest  time.Time // run_at of the oldest todo of the pool that it handed out
	now     time.Time // the server's clock
	walked  int       // pages of the pool index; 0 where nothing was found
}

// mark returns what is known for a claim. Queues in a given order have none: the first may be young,
// and what is older in the second would be left aside.
func (c *Client) mark(p ClaimParams) *mark {
	if p.Strict && len(p.Queues) > 1 {
		return &mark{read: true, far: math.MaxInt}
	}
	name := strings.Join(p.Queues, ",")
	if len(name) > 500 { // an index entry has a limit
		sum := sha256.Sum256([]byte(name))
		name = hex.EncodeToString(sum[:])
	}
	m := c.marks[name]
	if m == nil {
		m = &mark{queues: name, far: c.far + 5*(len(p.Queues)-1)} // to come to the head of a further queue is not walking
		if c.marks == nil {
			c.marks = map[string]*mark{}
		}
		c.marks[name] = m
	}
	return m
}

// bound is where the next look begins; zero is at everything.
func (m *mark) bound() time.Time {
	if time.Since(m.whole) >= markHeld {
		m.low = time.Time{}
	}
	return m.low
}

// lift makes the next look one at everything.
func (m *mark) lift() { m.low = time.Time{} }

// recent says whether everything was looked at a moment ago.
func (m *mark) recent() bool { return time.Since(m.whole) < markAgain }

// learn moves the mark by what a look saw.
func (m *mark) learn(l look) {
	if !l.bounded {
		m.whole = time.Now()
	}
	if l.now.IsZero() {
		return // nothing was found, so nothing is known of how far it walked
	}
	low := l.now.Add(-markLag)
	if !l.oldest.IsZero() && l.oldest.Before(low) {
		low = l.oldest
	}
	switch {
	case l.bounded && low.After(m.low):
		m.low = low
	case !l.bounded && l.walked >= m.far:
		m.low = low
	}
}

// step reads what others left, and begins there.
func (m *mark) step(l *look) step {
	return step{name: "mark", args: pgx.StrictNamedArgs{"queues": m.queues, "valid": markTable},
		row: func(row pgx.CollectableRow) error {
			var text string
			var low time.Time
			var won bool
			err := row.Scan(&text, &low, &won)
			if m.stored = low; !won {
				l.bounded, m.low, m.whole = true, low, time.Now().Add(markTable-markHeld)
			}
			return err
		}}
}

// save leaves for others what a slow look has taught, and takes away what is not so any more. A fault
// is none of the claim's: it costs the others one slow look.
func (m *mark) save(ctx context.Context, c *Client, l look) {
	s := step{name: "mark_set", args: pgx.StrictNamedArgs{"queues": m.queues, "low": m.low, "whole": !l.bounded}}
	switch {
	case l.walked >= m.far && (!l.bounded || time.Since(m.saved) >= markSaved):
		m.stored = m.low
	case !l.bounded && l.walked > 0 && l.walked < m.far && !m.stored.IsZero():
		s = step{name: "mark_drop", args: pgx.StrictNamedArgs{"queues": m.queues, "low": m.stored}}
		m.stored = time.Time{}
	default:
		return
	}
	m.saved = time.Now()
	_ = c.run(ctx, repeats, func() []step { return []step{s} })
}

// lowSetting is the bound as the statement reads it.
func lowSetting(low time.Time) string {
	if low.IsZero() {
		return "-infinity"
	}
	return low.UTC().Format("2006-01-02T15:04:05.000000Z")
}

// note adds one row of an answer to what a look saw.
func (l *look) note(r *scanner) {
	l.now = r.now
	if r.walked != nil {
		l.walked = *r.walked
	}
	if at, ok := r.todo.RunAt.Time(); ok && r.todo.Assignee == nil && (l.oldest.IsZero() || at.Before(l.oldest)) {
		l.oldest = at
	}
}
