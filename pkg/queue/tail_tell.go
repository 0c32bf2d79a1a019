package queue

import (
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// sighting is what a tail knows of a todo that it has seen.
type sighting struct {
	updated   time.Time
	condition todo.Condition
	claimed   int // the last lease whose claim was told
	ended     int // the last lease whose end was told
}

// teller turns the row of one todo, and its leases that ended, into what happened since it was seen last.
type teller struct {
	todo  todo.Todo
	was   sighting
	knew  bool
	since time.Time
	list  []Transition
}

// tell returns what happened to a todo since it was seen last; where it never was, since the moment that
// the look goes back to.
func (l *Tail) tell(t todo.Todo, ended []todo.Attempt) []Transition {
	w := teller{todo: t, since: l.since}
	w.was, w.knew = l.known[t.ID]
	if !w.knew && w.recent(t.CreatedAt) {
		first := todo.IsPending
		if t.State == todo.Pending && t.LeaseSeq == 0 {
			first = t.Condition
		}
		w.put(Transition{At: t.CreatedAt, To: first})
		w.knew = true
	}
	for _, a := range ended {
		w.claim(a.LeaseSeq, a.Attempt, a.Owner, a.ClaimedAt)
		w.end(a)
	}
	if t.LeaseSeq > 0 && t.State != todo.Pending {
		w.claim(t.LeaseSeq, t.Attempt, t.Owner, t.ClaimedAt)
	}
	w.arrive()
	updated, _ := t.UpdatedAt.Time()
	l.known[t.ID] = sighting{updated, t.Condition, max(w.was.claimed, t.LeaseSeq), max(w.was.ended, t.LeaseSeq-1)}
	return w.list
}

// recent says whether a moment is since the one that the look goes back to.
func (w *teller) recent(at todo.Time) bool {
	m, ok := at.Time()
	return ok && !m.Before(w.since)
}

// put tells one transition from the condition before it, where that is known.
func (w *teller) put(t Transition) {
	if w.was.condition != "" && t.From == nil {
		from := w.was.condition
		t.From = &from
	}
	t.ID, t.Queue, t.Kind = w.todo.ID, w.todo.Queue, w.todo.Kind
	w.list = append(w.list, t)
	w.was.condition = t.To
}

// claim tells that a lease began, unless that was told, or was too long ago.
func (w *teller) claim(seq, attempt int, owner *string, at todo.Time) {
	if seq <= w.was.claimed || !w.recent(at) {
		return
	}
	if w.was.condition == "" && seq == 1 {
		w.was.condition = todo.IsPending
	}
	w.put(Transition{At: at, To: todo.IsClaimed, Owner: owner, Attempt: attempt, LeaseSeq: seq})
	w.was.claimed = seq
}

// end tells how a lease ended otherwise than in completion. One that was taken over is told by the claim
// that took it.
func (w *teller) end(a todo.Attempt) {
	if a.LeaseSeq <= w.was.ended {
		return
	}
	w.was.ended = a.LeaseSeq
	w.was.condition = todo.IsClaimed
	last := a.LeaseSeq == w.todo.LeaseSeq
	atCap := a.Attempt >= w.todo.MaxAttempts
	t := Transition{At: a.EndedAt, To: todo.IsPending, Owner: a.Owner, Attempt: a.Attempt, LeaseSeq: a.LeaseSeq, Outcome: &a.Outcome, Error: a.Error}
	switch {
	case a.Outcome == "taken over":
		w.was.condition = todo.IsExpired
		return
	case a.Outcome == "buried", last && w.todo.Condition == todo.IsDead:
		t.To = todo.IsDead
	case last && w.todo.State == todo.Failed, a.Outcome == "failed" && !atCap:
		t.To = todo.IsRetrying
	case a.Outcome == "failed", a.Outcome == "expired" && atCap:
		t.To = todo.IsDead
	case last && w.todo.State == todo.Pending:
		t.To = w.todo.Condition
	}
	if a.Outcome == "expired" {
		from := todo.IsExpired
		t.From = &from
	}
	w.put(t)
}

// arrive tells that the todo is now in another condition than the last that was told: it was completed,
// or an operator moved it. What only the clock made of it is not told.
func (w *teller) arrive() {
	t := w.todo
	switch {
	case t.Condition == w.was.condition, t.State == todo.Claimed:
		return
	case t.State == todo.Pending && (w.was.condition == todo.IsPending || w.was.condition == todo.IsDelayed):
		return // moved in time alone
	case !w.recent(t.UpdatedAt):
		return
	}
	at := t.UpdatedAt
	x := Transition{At: at, To: t.Condition, Owner: t.Owner, Attempt: t.Attempt, LeaseSeq: t.LeaseSeq}
	if t.State == todo.Done && w.was.condition == "" {
		w.was.condition = todo.IsClaimed
	}
	if t.State == todo.Failed {
		x.Error = t.Error
	}
	w.put(x)
}
