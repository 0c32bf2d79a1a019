package queue

import (
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/todoctl/todoctl/pkg/todo"
)

// steps is one random history: the model, the database, and what is known to its actors.
type steps struct {
	*world
	m    *model
	r    *rapid.T
	text string // of the database, before the step
}

func (s *steps) pick(what string, list ...string) string {
	return rapid.SampledFrom(list).Draw(s.r, what)
}

func (s *steps) number(what string, low, high int) int {
	return rapid.IntRange(low, high).Draw(s.r, what)
}

func (s *steps) chance(what string) bool { return rapid.Bool().Draw(s.r, what) }

// ids draws some ids, one in ten unknown.
func (s *steps) ids(most int) []string {
	var list []string
	for range s.number("ids", 1, most) {
		if i := s.number("id", 0, len(s.m.items)+len(s.m.items)/10); i < len(s.m.items) {
			list = append(list, s.m.items[i].id)
		} else {
			list = append(list, "td_none")
		}
	}
	return list
}

// leases draws some receipts, running or stale, and who sends them.
func (s *steps) leases() LeaseParams {
	p := LeaseParams{Owner: s.pick("owner", "a", "b"), Named: s.chance("named"), Force: s.number("force", 0, 9) == 0}
	for _, id := range s.ids(3) {
		seq := s.number("back", 0, 2)
		if t := s.m.find(id); t != nil {
			seq = max(t.seq-seq, 0)
		}
		if s.number("bare", 0, 4) == 0 {
			seq = 0
		}
		p.Receipts = append(p.Receipts, todo.Receipt{ID: id, Seq: seq})
	}
	return p
}

func span(h int) (time.Duration, int64) { return time.Duration(h) * time.Hour, int64(h) * hour }

// answers compares the results of a verb with what the model says of each id.
func (s *steps) answers(verb string, list []Result, err error, receipts []todo.Receipt, want func(t *item, r todo.Receipt) todo.Code) {
	s.r.Helper()
	if err != nil {
		s.r.Fatalf("%s: %v", verb, err)
	}
	receipts = distinct(receipts)
	if len(list) != len(receipts) {
		s.r.Fatalf("%s: %d results for %d", verb, len(list), len(receipts))
	}
	for i, r := range receipts {
		got := todo.Code("")
		if list[i].Error != nil {
			got = list[i].Error.Code
		} else if list[i].Already {
			got = "already"
		}
		w := todo.CodeNotFound
		if t := s.m.find(r.ID); t != nil {
			w = want(t, r)
			if list[i].Condition != s.m.condition(t) {
				s.r.Errorf("%s %s: answers that it is %s, not %s", verb, r, list[i].Condition, s.m.condition(t))
			}
		}
		if got != w {
			s.r.Errorf("%s %s: %q, not %q", verb, r, got, w)
		}
	}
}

// operated is answers for an operator's verb, which changed some ids and refused the rest.
func (s *steps) operated(verb string, list []Result, err error, ids []string, done map[string]bool) {
	s.r.Helper()
	var receipts []todo.Receipt
	for _, id := range ids {
		receipts = append(receipts, todo.Receipt{ID: id})
	}
	s.answers(verb, list, err, receipts, func(t *item, _ todo.Receipt) todo.Code {
		if done[t.id] {
			return ""
		}
		return todo.CodeConflict
	})
}

// filtered returns the ids in a queue that have one of some conditions; none given is all.
func (s *steps) filtered(queue string, conditions ...todo.Condition) []string {
	var list []string
	for _, t := range s.m.items {
		if t.queue == queue && (len(conditions) == 0 || slices.Contains(conditions, s.m.condition(t))) {
			list = append(list, t.id)
		}
	}
	return list
}

// look reads the database, and compares it with the model.
func (s *steps) look() {
	s.text = s.world.text(rows)
	if want := s.m.text(); s.text != want {
		s.r.Fatalf("the database holds\n%s\nand the model\n%s", s.text, want)
	}
}

// touched returns the ids whose rows have changed since the last look.
func (s *steps) touched() map[string]bool {
	ids := map[string]bool{}
	for line := range strings.SplitSeq(s.world.text(rows), "\n") {
		if id, _, _ := strings.Cut(line, " "); !strings.Contains(s.text, line) {
			ids[id] = true
		}
	}
	return ids
}

// set changes a flag of the rapid library unless the caller of go test has: the histories are the same
// each time, and as many as fit into the time.
func set(t *testing.T, values map[string]string) {
	for name, value := range values {
		// Not flag.Visit: it also tells of those that the test before this one has changed.
		if slices.ContainsFunc(os.Args, func(arg string) bool { return strings.HasPrefix(strings.TrimLeft(arg, "-"), name) }) {
			continue
		}
		old := flag.Lookup(name).Value.String()
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = flag.Set(name, old) })
	}
}

// TestModel drives random histories of several owners through the database and through a model of the
// contract, and compares every row and every answer after each step.
func TestModel(t *testing.T) {
	checks := 40
	if testing.Short() {
		checks = 8
	}
	set(t, map[string]string{"rapid.checks": fmt.Sprint(checks), "rapid.steps": "50", "rapid.seed": "1", "rapid.nofailfile": "true"})
	w := newWorld(t)
	w.opt.RetryBase, w.opt.RetryCap = time.Hour, 4*time.Hour
	rapid.Check(t, func(r *rapid.T) {
		_, actions := w.begin(r)
		r.Repeat(actions)
		sound(t.Context(), t, w.sql)
	})
}

// begin starts a random history in an empty world: the actions that it may take, each followed by a comparison with the model.
func (w *world) begin(r *rapid.T) (*steps, map[string]func(*rapid.T)) {
	s := &steps{world: w, m: &model{now: tick, paused: map[string]int64{}}, r: r}
	w.exec("DELETE FROM todos; DELETE FROM queues", pgx.QueryExecModeSimpleProtocol)
	w.opt.Prepare = s.chance("prepare")
	actions := s.actions()
	for name, act := range actions {
		actions[name] = func(r *rapid.T) {
			s.r = r
			s.m.now += tick
			act(r)
			s.look()
		}
	}
	return s, actions
}

// backoff is the pause before attempt n+1: an hour, doubling, at most four.
func backoff(attempt int) int64 {
	return int64(math.Min(4, math.Pow(2, float64(attempt-1)))) * hour
}

// rows is the query that gives the same of the database.
const rows = `
SELECT concat_ws(' ', t.id, t.queue, coalesce(t.idempotency_key, '-'), coalesce(t.assignee, '-'), t.state, coalesce(t.owner, '-'),
       t.lease_seq, t.attempt, t.max_attempts, coalesce(t.error, '-'), h.v[1], h.v[2], h.v[3], h.v[4], h.v[5])
       || coalesce((SELECT string_agg(concat_ws(' ', ' |', a.lease_seq, a.attempt, coalesce(a.owner, '-'), a.outcome, coalesce(a.error, '-')), '' ORDER BY a.lease_seq)
                      FROM todo_attempts a WHERE a.todo_id = t.id), '')
  FROM todos t CROSS JOIN LATERAL (
    SELECT array_agg(coalesce(round(extract(epoch FROM c.at - now()) / 3600)::int::text, '-') ORDER BY c.n) AS v
      FROM (VALUES (1, t.run_at), (2, t.lease_expires_at), (3, t.next_retry_at), (4, t.claimed_at), (5, t.completed_at)) c(n, at)) h
 ORDER BY t.id`

// later lets an hour pass.
const later = `
UPDATE todos SET run_at = run_at - interval '1 h', lease_expires_at = lease_expires_at - interval '1 h', next_retry_at = next_retry_at - interval '1 h',
       claimed_at = claimed_at - interval '1 h', completed_at = completed_at - interval '1 h', updated_at = updated_at - interval '1 h';
UPDATE todo_attempts SET claimed_at = claimed_at - interval '1 h', ended_at = ended_at - interval '1 h';
UPDATE queues SET paused_until = paused_until - interval '1 h'`
