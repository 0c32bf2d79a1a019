package queue

import (
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/todoctl/todoctl/pkg/todo"
)

// actions are the steps of a random history. Each does the same to the database and to the model.
func (s *steps) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"an hour": func(*rapid.T) {
			s.exec(later, pgx.QueryExecModeSimpleProtocol)
			s.m.now += hour
		},
		"enqueue": func(*rapid.T) { s.enqueue() }, "enqueue many": func(*rapid.T) { s.enqueueMany() },
		"claim": func(*rapid.T) { s.claim() }, "claim of queues": func(*rapid.T) { s.claim() }, "claim by id": func(*rapid.T) { s.claimID() },
		"complete": func(*rapid.T) { s.complete() }, "heartbeat": func(*rapid.T) { s.heartbeat() },
		"fail": func(*rapid.T) { s.fail() }, "release": func(*rapid.T) { s.release() },
		"reap": func(*rapid.T) { s.reap() }, "retry": func(*rapid.T) { s.retry() }, "retry all": func(*rapid.T) { s.retryAll() },
		"bump": func(*rapid.T) { s.bump() }, "bury": func(*rapid.T) { s.bury() }, "pause": func(*rapid.T) { s.pause() },
		"delete": func(*rapid.T) { s.remove() }, "count": func(*rapid.T) { s.counts() },
	}
}

func (s *steps) fresh() (NewTodo, *item) {
	n := NewTodo{Queue: s.pick("queue", "p", "q"), Payload: "null", MaxAttempts: s.number("max", 1, 3)}
	t := &item{queue: n.Queue, state: todo.Pending, max: n.MaxAttempts, run: s.m.now}
	if k := s.pick("key", "", "k", "l"); k != "" {
		n.Key, t.key = &k, k
	}
	if a := s.pick("assignee", "", "", "a", "b"); a != "" {
		n.Assignee, t.assignee = &a, a
	}
	if h := s.number("delay", -1, 2); h != 0 {
		d, length := span(h)
		n.Delay = &d
		t.run += length
	}
	return n, t
}

func (s *steps) enqueue() {
	n, t := s.fresh()
	e, err := s.Enqueue(s.t.Context(), n)
	if err != nil {
		s.r.Fatal(err)
	}
	other := s.m.holder(t.queue, t.key)
	if e.Created != (other == nil) || other != nil && e.ID != other.id {
		s.r.Fatalf("enqueue: created %v, %s", e.Created, e.ID)
	}
	if t.id = e.ID; e.Created {
		s.m.items = append(s.m.items, t)
	}
}

func (s *steps) enqueueMany() {
	var list []NewTodo
	var items []*item
	for i := range s.number("lines", 1, 4) {
		n, t := s.fresh()
		t.run += int64(i) * micro
		list, items = append(list, n), append(items, t)
	}
	i, want := 0, BulkResult{}
	r, err := s.EnqueueMany(s.t.Context(), source(list), BulkOptions{Each: func(l BulkLine) error {
		t := items[i]
		i++
		other := s.m.holder(t.queue, t.key)
		if l.Line != i || l.Created != (other == nil) || other != nil && l.ID != other.id {
			return fmt.Errorf("%+v for line %d", l, i)
		}
		if t.id = l.ID; l.Created {
			s.m.items = append(s.m.items, t)
			want.Created++
		} else {
			want.Duplicates++
		}
		return nil
	}})
	if err != nil || i != len(list) || r != want {
		s.r.Fatalf("enqueue many: %+v, %d lines, %v", r, i, err)
	}
}

func (s *steps) claim() {
	h := s.number("ttl", 1, 2)
	d, ttl := span(h)
	p := ClaimParams{Queues: rapid.Permutation([]string{"p", "q"}).Draw(s.r, "queues")[:s.number("queues", 1, 2)],
		Owner: s.pick("owner", "a", "b", "c"), TTL: d, Limit: s.number("n", 1, 4), Strict: s.chance("strict")}
	got, err := s.Claim(s.t.Context(), p)
	want := s.m.claims(p, ttl, s.touched())
	if len(want) == 0 && todo.CodeOf(err) != todo.CodeEmpty || len(want) > 0 && err != nil {
		s.r.Fatalf("claim of %v: %v", want, err)
	}
	var ids []string
	for _, t := range got {
		ids = append(ids, t.ID)
	}
	slices.Sort(ids)
	slices.Sort(want)
	if !slices.Equal(ids, want) {
		s.r.Fatalf("claim %+v: %v, not %v", p, ids, want)
	}
}

func (s *steps) claimID() {
	d, ttl := span(s.number("ttl", 1, 2))
	id, owner := s.ids(1)[0], s.pick("owner", "a", "b", "c")
	_, err := s.ClaimID(s.t.Context(), id, owner, d)
	want := todo.CodeNotFound
	if t := s.m.find(id); t != nil {
		want = todo.CodeConflict
		if s.m.due(t) && s.m.paused[t.queue] <= s.m.now && (t.assignee == "" || t.assignee == owner) {
			if s.m.claim(t, owner, ttl); t.state == todo.Claimed {
				want = ""
			}
		}
	}
	if got := errCode(err); got != want {
		s.r.Fatalf("claim of %s: %v, not %q", id, err, want)
	}
}

// ended applies a holder's verb to the model and compares the answers.
func (s *steps) ended(verb string, p LeaseParams, list []Result, err error, state todo.State, outcome string, apply func(*item)) {
	s.r.Helper()
	wants := map[todo.Receipt]todo.Code{}
	for _, r := range distinct(p.Receipts) {
		t := s.m.find(r.ID)
		switch {
		case t == nil:
		case t.held(r, p):
			apply(t)
		default:
			wants[r] = t.missed(r, p, state, outcome)
		}
	}
	s.answers(verb, list, err, p.Receipts, func(_ *item, r todo.Receipt) todo.Code { return wants[r] })
}

func (s *steps) complete() {
	p := s.leases()
	list, err := s.Complete(s.t.Context(), p, nil)
	s.ended("complete", p, list, err, todo.Done, "", func(t *item) { t.state, t.lease, t.completed = todo.Done, 0, s.m.now })
}

func (s *steps) heartbeat() {
	p := s.leases()
	d, ttl := span(s.number("ttl", 1, 3))
	list, err := s.Heartbeat(s.t.Context(), p, d)
	s.ended("heartbeat", p, list, err, "", "", func(t *item) { t.lease = s.m.now + ttl })
}

func (s *steps) fail() {
	p, f := s.leases(), FailParams{Error: s.pick("error", "x", "y"), Dead: s.number("dead", 0, 3) == 0}
	in := int64(-1)
	if h := s.number("retry in", -2, 1); h >= 0 {
		d, length := span(h)
		f.RetryIn, in = &d, length
	}
	list, err := s.Fail(s.t.Context(), p, f)
	s.ended("fail", p, list, err, todo.Failed, "failed", func(t *item) {
		t.past("failed", f.Error)
		t.error = f.Error
		if f.Dead || t.attempt >= t.max {
			s.m.die(t)
			return
		}
		pause := in
		if pause < 0 {
			pause = backoff(t.attempt)
		}
		t.wait(s.m.now + pause)
		t.state, t.retry = todo.Failed, t.run
	})
}

func (s *steps) release() {
	p := s.leases()
	var delay *time.Duration
	var length int64
	if s.number("delayed", 0, 3) == 0 {
		d, l := span(1)
		delay, length = &d, l
	}
	list, err := s.Release(s.t.Context(), p, delay, nil)
	s.ended("release", p, list, err, todo.Pending, "released", func(t *item) {
		t.past("released", "")
		run := t.run
		if delay != nil {
			run = s.m.now + length
		}
		t.wait(run)
		t.attempt = max(t.attempt-1, 0)
	})
}
