package queue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Explanation says why a todo, or a queue, is or is not claimable for an owner: the first of the reasons,
// and all of them. Claimable is true exactly when a claim by that owner would get it now.
type Explanation struct {
	ID             *string         `json:"id"` // null for a queue
	Queue          string          `json:"queue"`
	Condition      *todo.Condition `json:"condition"` // of the todo
	Owner          string          `json:"owner"`     // for whom
	Claimable      bool            `json:"claimable"`
	Code           string          `json:"code"` // of the first reason
	Text           string          `json:"text"`
	Command        *string         `json:"command"`
	Ahead          *int64          `json:"ahead"`           // todos that such a claimer is given before this one; null where it is not in line
	AheadEstimated bool            `json:"ahead_estimated"` // there are at least so many
	Reasons        []Reason        `json:"reasons"`
}

// Reason is one thing that keeps a todo from being claimed, or that is worth knowing about it.
type Reason struct {
	Code    string    `json:"code"` // see WhyCodes
	Text    string    `json:"text"`
	Until   todo.Time `json:"until"`   // when it ends by itself
	By      *string   `json:"by"`      // who is behind it
	Since   todo.Time `json:"since"`   // since when
	Command *string   `json:"command"` // what would change it
	Blocks  bool      `json:"blocks"`  // no claim succeeds as long as it holds
}

// The codes of reasons.
const (
	WhyClaimable    = "claimable"     // nothing stands in the way
	WhyPaused       = "paused"        // an operator has stopped the queue
	WhyDelayed      = "delayed"       // not before its time
	WhyBackoff      = "backoff"       // failed, not before its backoff is over
	WhyAssigned     = "assigned"      // for another owner alone
	WhyClaimed      = "claimed"       // somebody holds it under a running lease
	WhyExpired      = "expired"       // its lease is over and nobody has reaped it
	WhyExhausted    = "exhausted"     // no attempts are left; whoever meets it makes a dead letter of it
	WhyDone         = "done"          // it was completed
	WhyDead         = "dead"          // it is a dead letter
	WhySuperseded   = "superseded"    // it is a dead letter, and a live todo has its key
	WhyReleased     = "released"      // it was given back over and over
	WhyUnclaimed    = "unclaimed"     // nobody has claimed from the queue since it was due
	WhyUnknownQueue = "unknown-queue" // nothing was ever enqueued there
	WhyNone         = "none"          // the queue has nothing live
)

// WhyCap is how many todos are looked at to tell how many are ahead, where no more is asked for.
const WhyCap = 2000

// whyRows is how many of the newest todos and leases are searched for the last trace of an owner.
const whyRows = 5_000

// Why explains one todo for one owner. limit bounds the todos that are looked at to count those ahead of it;
// an unknown id is not found.
func (c *Client) Why(ctx context.Context, id, owner string, limit int) (Explanation, error) {
	var found []sight
	err := c.run(ctx, reads, func() []step {
		found = nil
		return []step{{name: "why", args: pgx.StrictNamedArgs{"id": id, "owner": owner, "cap": limit}, row: func(row pgx.CollectableRow) error {
			t, x, err := scan(row)
			found = append(found, sight{t, x})
			return err
		}}}
	})
	switch {
	case err != nil:
		return Explanation{}, err
	case len(found) == 0:
		return Explanation{}, notFound(id)
	}
	s := found[0]
	w := why{owner: owner, now: s.now}
	w.todo(s)
	e := w.explanation(s.todo.Queue)
	e.ID, e.Condition = &s.todo.ID, &s.todo.Condition
	e.count(s, limit)
	if i := slices.IndexFunc(e.Reasons, func(r Reason) bool { return r.Code == WhyAssigned }); i >= 0 {
		if err := c.lastSeen(ctx, &e.Reasons[i]); err != nil {
			return e, err
		}
	}
	if e.Claimable && s.todo.AvailableAt.Before(s.now.Add(-idle)) {
		err = c.unclaimed(ctx, &e, s.todo.AvailableAt)
	}
	e.first()
	return e, err
}

// count says how many are ahead of a todo that this owner may be given.
func (e *Explanation) count(s sight, limit int) {
	blocked := func(r Reason) bool { return slices.Contains([]string{WhyAssigned, WhyClaimed, WhyExhausted}, r.Code) }
	if s.ahead == nil || s.todo.AvailableAt.IsNull() || slices.ContainsFunc(e.Reasons, blocked) {
		return
	}
	e.Ahead, e.AheadEstimated = s.ahead, *s.looked >= int64(limit)
	mark := ""
	if e.AheadEstimated {
		mark = "~"
	}
	e.Reasons[0].Text += fmt.Sprintf("; %s%d ahead of it", mark, *s.ahead)
}

// lastSeen adds to a reason when the one behind it left its last trace.
func (c *Client) lastSeen(ctx context.Context, r *Reason) error {
	var seen todo.Time
	var now time.Time
	err := c.run(ctx, reads, func() []step {
		return []step{{name: "why_owner", args: pgx.StrictNamedArgs{"owner": *r.By, "cap": whyRows},
			row: func(row pgx.CollectableRow) error { return row.Scan(&seen, &now) }}}
	})
	if at, ok := seen.Time(); ok {
		r.Since = seen
		r.Text += ", last seen " + ago(at, now)
	} else if err == nil {
		r.Text += ", of whom there is no trace among the newest todos"
	}
	return err
}

// first takes over what is most in the way.
func (e *Explanation) first() {
	e.Code, e.Text, e.Command = e.Reasons[0].Code, e.Reasons[0].Text, e.Reasons[0].Command
}
