package queue

import (
	"slices"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

func (s *steps) reap() {
	var only []string
	if q := s.pick("queue", "", "p", "q"); q != "" {
		only = []string{q}
	}
	var want ReapResult
	for _, t := range s.m.items {
		if only == nil || t.queue == only[0] {
			if was, done := s.m.reap(t); done {
				want.count(was, t.state == todo.Failed)
			}
		}
	}
	if r, err := s.Reap(s.t.Context(), only, false, nil); err != nil || r != want {
		s.r.Fatalf("reap of %v: %+v, not %+v, %v", only, r, want, err)
	}
}

func (s *steps) retry() {
	ids := s.ids(4)
	d, delay := span(s.number("delay", 0, 1))
	p := RetryParams{Delay: d}
	attempts := s.number("max", 0, 3)
	if attempts > 0 {
		p.MaxAttempts = &attempts
	}
	list, err := s.Retry(s.t.Context(), ids, p)
	s.operated("retry", list, err, ids, s.m.retries(ids, true, true, attempts, delay))
}

func (s *steps) retryAll() {
	q, retrying := s.pick("queue", "p", "q"), s.chance("retrying")
	condition := todo.IsDead
	if retrying {
		condition = todo.IsRetrying
	}
	ids := s.filtered(q, condition)
	sweep, err := s.RetryAll(s.t.Context(), Filter{Queues: []string{q}, Conditions: []todo.Condition{condition}}, RetryParams{Retrying: retrying}, nil)
	done := s.m.retries(ids, !retrying, retrying, 0, 0)
	want := Sweep{Op: sweep.Op, Verb: "retry", Matched: len(ids), Changed: len(done), Superseded: len(ids) - len(done)}
	if err != nil || sweep != want {
		s.r.Fatalf("retry all: %+v, not %+v, %v", sweep, want, err)
	}
}

func (s *steps) bump() {
	ids, p := s.ids(3), BumpParams{By: time.Hour, Front: s.chance("front")}
	list, err := s.Bump(s.t.Context(), ids, p)
	heads, done := map[string]int64{}, map[string]bool{}
	for _, t := range s.m.items {
		if t.live() && t.assignee == "" && (heads[t.queue] == 0 || t.available() < heads[t.queue]) {
			heads[t.queue] = t.available()
		}
	}
	for _, t := range s.m.items {
		if t.state != todo.Pending || !slices.Contains(ids, t.id) {
			continue
		}
		done[t.id] = true
		if !p.Front {
			t.run -= hour
			continue
		}
		t.run = min(t.run, s.m.now)
		if head, any := heads[t.queue]; any {
			t.run = min(t.run, head)
		}
		t.run -= micro
	}
	s.operated("bump", list, err, ids, done)
}

func (s *steps) bury() {
	p := BuryParams{Force: s.number("force", 0, 2) == 0}
	if s.chance("reason") {
		p.Reason = ptr("why")
	}
	all := s.number("by filter", 0, 3) == 0
	q := s.pick("queue", "p", "q")
	ids := s.filtered(q)
	if !all {
		ids = s.ids(2)
	}
	done := map[string]bool{}
	for _, t := range s.m.items {
		if !slices.Contains(ids, t.id) || !t.live() || t.state == todo.Claimed && !s.m.due(t) && !p.Force {
			continue
		}
		done[t.id] = true
		switch {
		case p.Reason != nil:
			t.error = *p.Reason
		case t.error == "":
			t.error = "buried"
		}
		if t.state == todo.Claimed {
			t.past("buried", t.error)
		}
		s.m.die(t)
	}
	if !all {
		list, err := s.Bury(s.t.Context(), ids, p)
		s.operated("bury", list, err, ids, done)
		return
	}
	sweep, err := s.BuryAll(s.t.Context(), Filter{Queues: []string{q}}, p, nil)
	want := Sweep{Op: sweep.Op, Verb: "bury", Matched: len(ids), Changed: len(done)}
	for _, id := range ids {
		t := s.m.find(id)
		switch {
		case done[id]:
		case t.dead() && s.m.holder(t.queue, t.key) != nil:
			want.Superseded++
		default:
			want.Skipped++
		}
	}
	if err != nil || sweep != want {
		s.r.Fatalf("bury all: %+v, not %+v, %v", sweep, want, err)
	}
}

func (s *steps) pause() {
	q := s.pick("queue", "p", "q")
	switch s.number("pause", 0, 3) {
	case 0:
		_, err := s.Pause(s.t.Context(), []string{q}, nil, "op", nil)
		s.check(err)
		s.m.paused[q] = never
	case 1:
		d, length := span(1)
		_, err := s.Pause(s.t.Context(), []string{q}, &d, "op", nil)
		s.check(err)
		s.m.paused[q] = s.m.now + length
	default:
		_, err := s.Resume(s.t.Context(), []string{q}, nil)
		s.check(err)
		s.m.paused[q] = 0
	}
}

func (s *steps) check(err error) {
	s.r.Helper()
	if err != nil {
		s.r.Fatal(err)
	}
}

// remove purges dead letters of a queue, or prunes what ended long ago.
func (s *steps) remove() {
	q := s.pick("queue", "p", "q")
	gone := func(t *item) bool { return t.queue == q && t.dead() }
	if s.chance("prune") {
		_, err := s.Prune(s.t.Context(), PruneParams{OlderThan: 90 * time.Minute, States: []todo.Condition{todo.IsDone, todo.IsDead}, Queues: []string{q}}, nil)
		s.check(err)
		gone = func(t *item) bool { return t.queue == q && !t.live() && t.completed < s.m.now-hour*3/2 }
	} else {
		_, err := s.Purge(s.t.Context(), Filter{Queues: []string{q}}, nil, nil)
		s.check(err)
	}
	s.m.items = slices.DeleteFunc(s.m.items, gone)
}

// counts compares what queues and lists say.
func (s *steps) counts() {
	list, err := s.Queues(s.t.Context(), []string{"p", "q"}, 0)
	s.check(err)
	for _, c := range list {
		n := func(condition todo.Condition) int64 { return int64(len(s.filtered(c.Queue, condition))) }
		if c.Pending != n(todo.IsPending) || c.Delayed != n(todo.IsDelayed) || c.Claimed != n(todo.IsClaimed) || c.Expired != n(todo.IsExpired) ||
			c.Retrying != n(todo.IsRetrying) || c.Dead != n(todo.IsDead) || c.Paused != (s.m.paused[c.Queue] > s.m.now) {
			s.r.Errorf("counts of %s: %+v", c.Queue, c)
		}
	}
	for _, condition := range todo.Conditions() {
		var ids []string
		for t, err := range s.List(s.t.Context(), Filter{Queues: []string{"p"}, Conditions: []todo.Condition{condition}}, Page{}, &Scanned{}) {
			s.check(err)
			ids = append(ids, t.ID)
		}
		if want := s.filtered("p", condition); !slices.Equal(ids, want) {
			s.r.Errorf("list of %s: %v, not %v", condition, ids, want)
		}
	}
}
