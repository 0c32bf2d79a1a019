package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/todoctl/todoctl/pkg/todo"
)

// undone runs f in a transaction of the client's connection that is rolled back.
func (s *steps) undone(f func() error) error {
	ctx := s.t.Context()
	if _, err := s.conn.Exec(ctx, "BEGIN"); err != nil {
		s.r.Fatal(err)
	}
	err := f()
	if _, fault := s.conn.Exec(ctx, "ROLLBACK"); fault != nil {
		s.r.Fatal(fault)
	}
	return err
}

// agree asks about every todo and every queue for three owners, and lets each claim what it asked about.
func (s *steps) agree(codes map[string]bool) {
	ctx := s.t.Context()
	for _, owner := range []string{"a", "b", "c"} {
		for _, t := range s.m.items {
			e, err := s.Why(ctx, t.id, owner, WhyCap)
			if err != nil {
				s.r.Fatal(err)
			}
			codes[e.Code] = true
			err = s.undone(func() error { _, err := s.ClaimID(ctx, t.id, owner, time.Minute); return err })
			if e.Claimable != (err == nil) || e.Code != e.Reasons[0].Code || e.Claimable == e.Reasons[0].Blocks {
				s.r.Errorf("why %s for %s: %+v, but its claim: %v", t.id, owner, e, err)
			}
		}
		for _, queue := range []string{"p", "q"} {
			e, err := s.WhyQueue(ctx, queue, owner, WhyCap)
			if err != nil {
				s.r.Fatal(err)
			}
			err = s.undone(func() error { _, err := s.Claim(ctx, one(queue, owner)); return err })
			if e.Claimable != (err == nil) || e.Claimable == e.Reasons[0].Blocks {
				s.r.Errorf("why of queue %s for %s: %+v, but its claim: %v", queue, owner, e, err)
			}
		}
	}
}

// Over random histories, why says claimable exactly when a claim by that owner gets it.
func TestWhyAgreesWithClaim(t *testing.T) {
	checks := 12
	if testing.Short() {
		checks = 5
	}
	set(t, map[string]string{"rapid.checks": fmt.Sprint(checks), "rapid.steps": "60", "rapid.seed": "3", "rapid.nofailfile": "true"})
	w := newWorld(t)
	w.opt.RetryBase, w.opt.RetryCap = time.Hour, 4*time.Hour
	codes := map[string]bool{}
	rapid.Check(t, func(r *rapid.T) {
		s, actions := w.begin(r)
		actions["ask"] = func(r *rapid.T) { s.r = r; s.agree(codes) }
		r.Repeat(actions)
		s.r = r
		s.agree(codes)
	})
	for _, code := range []string{WhyClaimable, WhyPaused, WhyDelayed, WhyBackoff, WhyAssigned, WhyClaimed, WhyExpired, WhyExhausted, WhyDone, WhyDead, WhySuperseded} {
		if !codes[code] && !testing.Short() {
			t.Errorf("no history came to %s", code)
		}
	}
}

// Every reason for a todo, and what is told with it.
func TestWhyTellsTheReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO queues (name, paused_at, paused_until, paused_by, reason) VALUES ('held', now() - interval '1 h', now() + interval '1 h', 'ada', 'deploy')`)
	w.exec(`INSERT INTO todos (id, queue, state, assignee, owner, idempotency_key, run_at, lease_expires_at, next_retry_at, claimed_at, updated_at, completed_at, attempt, max_attempts, lease_seq, error)
		VALUES ('free', 'q', 'pending', NULL, NULL, NULL, now() - interval '5 s', NULL, NULL, NULL, now(), NULL, 0, 5, 0, NULL),
		('next', 'q', 'pending', NULL, NULL, NULL, now() - interval '4 s', NULL, NULL, NULL, now(), NULL, 0, 5, 0, NULL),
		('held', 'held', 'pending', NULL, NULL, NULL, now(), NULL, NULL, NULL, now(), NULL, 0, 5, 0, NULL),
		('later', 'q', 'pending', NULL, NULL, NULL, now() + interval '1 h', NULL, NULL, NULL, now(), NULL, 0, 5, 0, NULL),
		('failed', 'q', 'failed', NULL, NULL, NULL, now(), NULL, now() + interval '10 min', NULL, now(), NULL, 2, 5, 2, E'boom\nand more'),
		('mine', 'q', 'pending', 'bob', NULL, NULL, now(), NULL, NULL, NULL, now(), NULL, 0, 5, 0, NULL),
		('leased', 'q', 'claimed', NULL, 'bob', NULL, now(), now() + interval '5 min', NULL, now() - interval '2 min', now() - interval '40 s', NULL, 1, 5, 1, NULL),
		('silent', 'q', 'claimed', NULL, 'bob', NULL, now(), now() + interval '5 min', NULL, now() - interval '2 min', now() - interval '2 min', NULL, 1, 5, 1, NULL),
		('lapsed', 'q', 'claimed', NULL, 'bob', NULL, now(), now() - interval '3 min', NULL, now() - interval '9 min', now() - interval '9 min', NULL, 1, 5, 1, NULL),
		('spent', 'q', 'claimed', NULL, 'bob', NULL, now(), now() - interval '3 min', NULL, now() - interval '9 min', now() - interval '9 min', NULL, 5, 5, 5, NULL),
		('done', 'q', 'done', NULL, 'bob', NULL, now(), NULL, NULL, now() - interval '2 h', now(), now() - interval '1 h', 1, 5, 1, NULL),
		('dead', 'q', 'failed', NULL, 'bob', NULL, now(), NULL, NULL, now() - interval '2 h', now(), now() - interval '1 h', 5, 5, 5, 'boom'),
		('old', 'q', 'failed', NULL, 'bob', 'k', now(), NULL, NULL, now() - interval '2 h', now(), now() - interval '1 h', 5, 5, 5, 'boom'),
		('new', 'other', 'pending', NULL, NULL, NULL, now(), NULL, NULL, NULL, now(), NULL, 0, 5, 3, NULL),
		('alive', 'q', 'pending', NULL, NULL, 'k', now() + interval '1 h', NULL, NULL, NULL, now(), NULL, 0, 5, 0, NULL),
		('waits', 'idle', 'pending', NULL, NULL, NULL, now() - interval '2 h', NULL, NULL, NULL, now(), NULL, 0, 5, 0, NULL),
		('was', 'idle', 'done', NULL, 'bob', NULL, now(), NULL, NULL, now() - interval '3 h', now(), now() - interval '3 h', 1, 5, 1, NULL),
		('never', 'fresh', 'pending', NULL, NULL, NULL, now() - interval '2 h', NULL, NULL, NULL, now(), NULL, 0, 5, 0, NULL)`)
	w.exec(`INSERT INTO todo_attempts (todo_id, lease_seq, attempt, outcome, error) SELECT 'new', i, 1, 'released', 'no room' FROM generate_series(1, 3) i`)
	for _, x := range []struct{ id, codes, text, command string }{
		{"free", "claimable", "; 1 ahead of it", "todoctl claim free"},
		{"next", "claimable", "; 2 ahead of it", "todoctl claim next"},
		{"held", "paused", "queue held is paused by ada until", "todoctl resume held"},
		{"later", "delayed", "(in 1h)", "todoctl bump --front later"},
		{"failed", "backoff", "attempt 2 of 5 and backs off until", "todoctl retry failed"},
		{"mine", "assigned", "bob, last seen 40s ago", "todoctl claim mine --owner bob"},
		{"leased", "claimed", "the last heartbeat was 40s ago", "todoctl release --force leased"},
		{"silent", "claimed", "no heartbeat yet", "todoctl release --force silent"},
		{"lapsed", "expired unclaimed", "the lease of bob ran out 3m ago", "todoctl reap -q q"},
		{"spent", "exhausted", "attempt 5 of 5 was its last", "todoctl reap -q q"},
		{"done", "done", "bob completed it 1h ago", ""},
		{"dead", "dead", "after attempt 5 of 5: boom", "todoctl retry dead"},
		{"old", "superseded", "the live todo alive has its key", "todoctl why alive"},
		{"new", "claimable released", "of its last leases 3 were given back: no room", "todoctl claim new"},
		{"waits", "claimable unclaimed", "nobody has claimed from queue idle for 3h", "todoctl claim waits"},
		{"never", "claimable unclaimed", "nobody is known to have claimed", "todoctl claim never"},
	} {
		e, err := w.Why(t.Context(), x.id, "w", WhyCap)
		if err != nil {
			t.Fatal(err)
		}
		var codes, texts []string
		for _, r := range e.Reasons {
			codes, texts = append(codes, r.Code), append(texts, r.Text)
		}
		command := ""
		if e.Command != nil {
			command = *e.Command
		}
		if text := strings.Join(texts, "\n"); strings.Join(codes, " ") != x.codes || !strings.Contains(text, x.text) || command != x.command {
			t.Errorf("%s: %v %q %q", x.id, codes, text, command)
		}
	}
	if _, err := w.Why(t.Context(), "nothing", "w", WhyCap); todo.CodeOf(err) != todo.CodeNotFound {
		t.Errorf("an unknown id: %v", err)
	}
	if e, err := w.Why(t.Context(), "later", "w", 2); err != nil || !e.AheadEstimated || !strings.Contains(e.Text, "~1 ahead") {
		t.Errorf("counted up to two: %+v %v", e, err)
	}
}

// Every reason for a queue.
func TestWhyOfQueues(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO queues (name, paused_at) VALUES ('empty', NULL), ('held', now())`)
	w.exec(`INSERT INTO todos (queue, state, assignee, owner, run_at, lease_expires_at, claimed_at, attempt, lease_seq)
		VALUES ('ready', 'pending', NULL, NULL, now() - interval '3 h', NULL, NULL, 0, 0), ('ready', 'pending', NULL, NULL, now(), NULL, NULL, 5, 5),
		('later', 'pending', NULL, NULL, now() + interval '1 h', NULL, NULL, 0, 0),
		('others', 'pending', 'bob', NULL, now(), NULL, NULL, 0, 0), ('leased', 'claimed', NULL, 'bob', now(), now() + interval '1 min', now(), 1, 1),
		('spent', 'pending', NULL, NULL, now(), NULL, NULL, 5, 5), ('held', 'pending', NULL, NULL, now(), NULL, NULL, 0, 0)`)
	for queue, want := range map[string][]string{
		"empty": {WhyNone}, "nowhere": {WhyUnknownQueue}, "held": {WhyPaused}, "ready": {WhyClaimable, WhyUnclaimed}, "later": {WhyDelayed},
		"others": {WhyAssigned}, "leased": {WhyClaimed}, "spent": {WhyExhausted},
	} {
		e, err := w.WhyQueue(t.Context(), queue, "w", WhyCap)
		if err != nil {
			t.Fatal(err)
		}
		var codes []string
		for _, r := range e.Reasons {
			codes = append(codes, r.Code)
		}
		if !slices.Equal(codes, want) || e.Claimable != (want[0] == WhyClaimable) {
			t.Errorf("%s: %v, want %v: %+v", queue, codes, want, e)
		}
	}
}
