package queue

import (
	"context"
	"fmt"
	"maps"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// LeaseParams names the leases that heartbeat, complete, fail and release act on, and who asks.
type LeaseParams struct {
	Receipts []todo.Receipt // ids or receipts; one named twice is acted on once
	Owner    string         // guards bare ids; "" with Force
	Named    bool           // the owner was named by the user, so it guards receipts too
	Force    bool           // an operator: whoever holds the lease; goes into the journal
}

// repeated maps a verb to the outcome that it leaves behind, by which a repetition is known.
type ended struct {
	state   todo.State // of the todo while the lease in question is its latest
	outcome string     // in todo_attempts
}

// lease runs one of the four statements that the holder of a lease may run.
func (c *Client) lease(ctx context.Context, verb string, p LeaseParams, done ended, more pgx.StrictNamedArgs) ([]Result, error) {
	receipts := distinct(p.Receipts)
	changed := newAnswers(len(receipts))
	var o *op
	if p.Force {
		var err error
		if o, err = forced(verb, more); err != nil {
			return nil, err
		}
	}
	for _, part := range parts(receipts) {
		ids, seqs := split(part)
		args := pgx.StrictNamedArgs{"ids": ids, "seqs": seqs, "owner": p.Owner, "named": p.Named, "force": p.Force}
		maps.Copy(args, more)
		known := changed.len()
		err := c.run(ctx, repeatable(part), func() []step {
			changed.cut(known)
			steps := []step{{name: verb, args: args, row: changed.keep()}}
			if o != nil {
				hold := step{name: "journal_hold", args: pgx.StrictNamedArgs{"op": o.id, "ids": ids, "seqs": seqs}}
				steps = []step{hold, steps[0], c.entry(o, nil, nil)}
			}
			switch verb {
			case "complete", "fail":
				steps = append(steps, notify(ids, nil)) // who waits for the end of these todos
			case "release":
				steps = append(steps, notify(nil, ids)) // who waits for something to claim
			}
			return steps
		})
		if err != nil {
			return nil, err
		}
	}
	list, err := c.results(ctx, verb, p, receipts, changed, done)
	if o != nil && changed.len() > 0 {
		for i := range list {
			if changed.has(list[i].ID) {
				list[i].Op = &o.id
			}
		}
		c.dropImages(ctx, 1)
	}
	return list, err
}

// repeatable says whether a statement may be sent again after its answer was lost: a receipt makes
// the second try harmless, since it finds the lease ended by the first.
func repeatable(receipts []todo.Receipt) access {
	for _, r := range receipts {
		if r.Seq == 0 {
			return writes
		}
	}
	return repeats
}

// results puts the answers in the order asked for and classifies what was not changed.
func (c *Client) results(ctx context.Context, verb string, p LeaseParams, receipts []todo.Receipt, changed *answers, done ended) ([]Result, error) {
	var missed []todo.Receipt
	for _, r := range receipts {
		if !changed.has(r.ID) {
			missed = append(missed, r)
		}
	}
	seen, err := c.classify(ctx, missed)
	if err != nil {
		return nil, err
	}
	list := make([]Result, len(receipts))
	for i, r := range receipts {
		if at, ok := changed.at[r.ID]; ok {
			list[i] = changed.list[at]
			continue
		}
		s, ok := seen[r.ID]
		if !ok {
			list[i] = Result{ID: r.ID, Error: notFound(r.ID)}
			continue
		}
		list[i] = result(&s.todo)
		if s.repeats(r, p, done) {
			asked := r.String() // the todo's own may be of a later lease
			list[i].Already, list[i].Receipt = true, &asked
		} else {
			list[i].refuse(s.lost(verb, r, p))
		}
	}
	return list, nil
}

// sight is a todo as the second statement saw it.
type sight struct {
	todo todo.Todo
	extra
}

func (c *Client) classify(ctx context.Context, receipts []todo.Receipt) (map[string]sight, error) {
	seen := map[string]sight{}
	for _, part := range parts(receipts) {
		ids, seqs := split(part)
		err := c.run(ctx, reads, func() []step {
			return []step{{name: "classify", args: pgx.StrictNamedArgs{"ids": ids, "seqs": seqs},
				row: func(row pgx.CollectableRow) error {
					t, x, err := scan(row)
					seen[t.ID] = sight{t, x}
					return err
				}}}
		})
		if err != nil {
			return nil, err
		}
	}
	return seen, nil
}

// repeats says whether the lease in question already ended in the way that is asked for.
func (s sight) repeats(r todo.Receipt, p LeaseParams, done ended) bool {
	if r.Seq == 0 || done.state == "" {
		return false
	}
	if s.endedAs != nil {
		return *s.endedAs == done.outcome && (!p.Named || s.endedOwner != nil && *s.endedOwner == p.Owner)
	}
	return s.todo.State == done.state && done.outcome == "" && s.todo.LeaseSeq == r.Seq &&
		(!p.Named || s.todo.Owner != nil && *s.todo.Owner == p.Owner)
}

// lost explains a refusal to the one who held, or believes to hold, the lease.
func (s sight) lost(verb string, r todo.Receipt, p LeaseParams) *todo.Error {
	t := s.todo
	text := fmt.Sprintf("cannot %s %s: ", verb, r)
	hint := ""
	switch {
	case t.State == todo.Claimed && r.Seq != 0 && t.LeaseSeq != r.Seq:
		text += fmt.Sprintf("the lease is lost: attempt %d is %s's since %s", t.Attempt, name(t.Owner), t.ClaimedAt)
		hint = "stop working on it; whoever holds it now will finish it"
	case t.State == todo.Claimed:
		text += fmt.Sprintf("attempt %d is %s's since %s, not %s's", t.Attempt, name(t.Owner), t.ClaimedAt, p.Owner)
		hint = "use the receipt that claim printed, or name the owner with --owner"
	case r.Seq != 0 && s.endedAs != nil:
		text += fmt.Sprintf("the lease has ended (%s); the todo is %s", *s.endedAs, t.Condition)
	default:
		text += fmt.Sprintf("it is %s, not claimed", t.Condition)
	}
	return conflict(t, text, hint)
}

// conflict makes the error for a todo that is not as a verb needs it, with what machines want to know.
func conflict(t todo.Todo, text, hint string) *todo.Error {
	e := todo.Errorf(todo.CodeConflict, "%s", text)
	e.Hint = hint
	e.Details = map[string]any{"id": t.ID, "state": t.State, "condition": t.Condition, "owner": t.Owner,
		"attempt": t.Attempt, "lease_seq": t.LeaseSeq, "claimed_at": t.ClaimedAt}
	return e
}

func notFound(id string) *todo.Error {
	return todo.Errorf(todo.CodeNotFound, "no todo %s", id).With("id", id).
		WithHint("todoctl list --state all shows every todo; it may have been pruned")
}

// refusal says why the operator's or the claimer's verb did not touch a todo.
func (c *Client) refusal(ctx context.Context, verb string, r todo.Receipt, owner string) error {
	seen, err := c.classify(ctx, []todo.Receipt{r})
	if err != nil {
		return err
	}
	s, ok := seen[r.ID]
	if !ok {
		return notFound(r.ID)
	}
	return s.refused(verb, owner)
}

// refused explains why a verb that is not the lease holder's did not apply.
func (s sight) refused(verb, owner string) *todo.Error {
	t := s.todo
	text := fmt.Sprintf("cannot %s %s: ", verb, t.ID)
	switch {
	case s.liveID != nil && t.Condition == todo.IsDead:
		e := conflict(t, text+fmt.Sprintf("superseded: the live todo %s has its key", *s.liveID), "todoctl show "+*s.liveID)
		e.Details["superseded_by"] = *s.liveID
		return e
	case t.Condition == todo.IsClaimed:
		return conflict(t, text+fmt.Sprintf("attempt %d is %s's since %s, until %s", t.Attempt, name(t.Owner), t.ClaimedAt, t.LeaseExpiresAt), "")
	case verb == "claim" && s.paused != nil && *s.paused:
		return conflict(t, text+fmt.Sprintf("queue %s is paused", t.Queue), "todoctl resume "+t.Queue)
	case verb == "claim" && t.Assignee != nil && *t.Assignee != owner:
		return conflict(t, text+fmt.Sprintf("it is assigned to %s", *t.Assignee), "claim it with --owner "+*t.Assignee)
	case t.Condition == todo.IsDelayed:
		return conflict(t, text+fmt.Sprintf("it is delayed until %s", t.RunAt), "todoctl bump --front "+t.ID)
	case t.Condition == todo.IsRetrying:
		return conflict(t, text+fmt.Sprintf("it is retrying, not before %s", t.NextRetryAt), "todoctl retry "+t.ID)
	case t.Condition == todo.IsDead && verb != "bury":
		return conflict(t, text+"it is dead", "todoctl retry "+t.ID)
	}
	return conflict(t, text+fmt.Sprintf("it is %s", t.Condition), "")
}

func name(s *string) string {
	if s == nil {
		return "nobody"
	}
	return *s
}

// distinct drops repetitions: two rows of unnest for one todo would be two updates of one row.
func distinct(list []todo.Receipt) []todo.Receipt {
	seen := make(map[string]bool, len(list))
	var out []todo.Receipt
	for _, r := range list {
		if !seen[r.ID] {
			seen[r.ID] = true
			out = append(out, r)
		}
	}
	return out
}

func split(list []todo.Receipt) (ids []string, seqs []*int) {
	ids, seqs = make([]string, len(list)), make([]*int, len(list))
	for i, r := range list {
		ids[i] = r.ID
		if r.Seq != 0 {
			seqs[i] = &list[i].Seq
		}
	}
	return ids, seqs
}
