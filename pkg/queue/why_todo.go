package queue

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// often is how many releases are over and over.
const often = 3

// why collects reasons for one owner at one time of the server.
type why struct {
	owner   string
	now     time.Time
	reasons []Reason
}

func (w *why) add(r Reason, command string) {
	if command != "" {
		r.Command = &command
	}
	w.reasons = append(w.reasons, r)
}

// explanation puts what blocks before what does not.
func (w *why) explanation(queue string) Explanation {
	e := Explanation{Queue: queue, Owner: w.owner, Reasons: w.reasons}
	e.Claimable = !slices.ContainsFunc(w.reasons, func(r Reason) bool { return r.Blocks })
	e.first()
	return e
}

// todo gives the reasons of one todo, the one that must go first before the others.
func (w *why) todo(s sight) {
	t := s.todo
	switch t.Condition {
	case todo.IsDone:
		w.add(Reason{Code: WhyDone, Text: fmt.Sprintf("%s completed it %s", name(t.Owner), w.since(t.CompletedAt)), By: t.Owner, Since: t.CompletedAt, Blocks: true}, "")
		return
	case todo.IsDead:
		w.dead(s)
		return
	case todo.IsClaimed:
		w.claimed(t)
	}
	if s.paused != nil && *s.paused {
		w.paused(t.Queue, s.pause)
	}
	if t.Assignee != nil && *t.Assignee != w.owner {
		w.add(Reason{Code: WhyAssigned, Text: "it is assigned to " + *t.Assignee, By: t.Assignee, Blocks: true}, "todoctl claim "+shellWord(t.ID)+" --owner "+shellWord(*t.Assignee))
	}
	switch due := !t.AvailableAt.After(w.now); {
	case t.Condition == todo.IsDelayed:
		w.add(Reason{Code: WhyDelayed, Text: "it is delayed until " + w.until(t.RunAt), Until: t.RunAt, Blocks: true}, "todoctl bump --front "+shellWord(t.ID))
	case t.Condition == todo.IsRetrying && !due:
		w.add(Reason{Code: WhyBackoff, Text: fmt.Sprintf("it failed in attempt %d of %d and backs off until %s%s", t.Attempt, t.MaxAttempts, w.until(t.NextRetryAt), saying(t.Error)),
			Until: t.NextRetryAt, Blocks: true}, "todoctl retry "+shellWord(t.ID))
	case due && t.Attempt >= t.MaxAttempts:
		w.add(Reason{Code: WhyExhausted, Text: fmt.Sprintf("attempt %d of %d was its last; the next claim or reap makes it a dead letter", t.Attempt, t.MaxAttempts), Blocks: true},
			"todoctl reap -q "+shellWord(t.Queue))
	case t.Condition == todo.IsExpired:
		w.add(Reason{Code: WhyExpired, Text: fmt.Sprintf("the lease of %s ran out %s and nobody has reaped it; a claim may take it", name(t.Owner), w.since(t.LeaseExpiresAt)),
			By: t.Owner, Since: t.LeaseExpiresAt}, "todoctl reap -q "+shellWord(t.Queue))
	case due && len(w.reasons) == 0:
		w.add(Reason{Code: WhyClaimable, Text: "it can be claimed now", Since: t.AvailableAt}, "todoctl claim "+shellWord(t.ID))
	}
	if s.released != nil && *s.released >= often {
		w.add(Reason{Code: WhyReleased, Text: fmt.Sprintf("of its last leases %d were given back%s", *s.released, saying(s.said))}, "todoctl show "+shellWord(t.ID))
	}
}

func (w *why) dead(s sight) {
	t := s.todo
	if s.liveID != nil {
		w.add(Reason{Code: WhySuperseded, Text: "it is dead, and the live todo " + *s.liveID + " has its key", Since: t.CompletedAt, Blocks: true}, "todoctl why "+shellWord(*s.liveID))
		return
	}
	w.add(Reason{Code: WhyDead, Text: fmt.Sprintf("it is a dead letter since %s, after attempt %d of %d%s", t.CompletedAt, t.Attempt, t.MaxAttempts, saying(t.Error)),
		Since: t.CompletedAt, Blocks: true}, "todoctl retry "+shellWord(t.ID))
}

// claimed tells of a running lease. What moves it are renewals, reports of progress and the claim itself: the last of
// them is the last sign of life.
func (w *why) claimed(t todo.Todo) {
	text := fmt.Sprintf("%s holds it since %s, attempt %d of %d; the lease runs until %s", name(t.Owner), t.ClaimedAt, t.Attempt, t.MaxAttempts, w.until(t.LeaseExpiresAt))
	updated, ok := t.UpdatedAt.Time()
	if taken, since := t.ClaimedAt.Time(); ok && since && updated.After(taken) {
		text += ", the last heartbeat was " + ago(updated, w.now)
	} else {
		text += ", no heartbeat yet"
	}
	w.add(Reason{Code: WhyClaimed, Text: text, Until: t.LeaseExpiresAt, By: t.Owner, Since: t.ClaimedAt, Blocks: true}, "todoctl release --force "+shellWord(t.ID))
}

func (w *why) paused(queue string, p pause) {
	text := "queue " + queue + " is paused"
	if p.by != nil {
		text += " by " + *p.by
	}
	if !p.until.IsNull() {
		text += " until " + w.until(p.until)
	}
	if p.reason != nil {
		text += ": " + *p.reason
	}
	w.add(Reason{Code: WhyPaused, Text: text, Until: p.until, By: p.by, Since: p.at, Blocks: true}, "todoctl resume "+shellWord(queue))
}

func saying(text *string) string {
	if text == nil || *text == "" {
		return ""
	}
	line, _, _ := strings.Cut(*text, "\n")
	return ": " + line
}

// until prints a time to come with how far it is away, since with how long ago it was.
func (w *why) until(t todo.Time) string {
	if at, ok := t.Time(); ok {
		return fmt.Sprintf("%s (in %s)", t, length(at.Sub(w.now)))
	}
	return t.String()
}

func (w *why) since(t todo.Time) string {
	if at, ok := t.Time(); ok {
		return ago(at, w.now)
	}
	return "at a time unknown"
}

func ago(at, now time.Time) string { return length(now.Sub(at)) + " ago" }

// length prints a duration to the second, and to the minute where it is long.
func length(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	case d >= time.Hour:
		return short(d.Round(time.Minute))
	}
	return short(d.Round(time.Second))
}

// shellWord quotes what a shell would read otherwise.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._:/@%+,=-", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
