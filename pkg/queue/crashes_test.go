package queue

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// history writes leases of a queue that ended: spec is "owner outcome count", each of a todo of its own.
func (w *world) history(queue string, specs ...string) {
	w.t.Helper()
	for _, spec := range specs {
		var owner, outcome string
		var n int
		if _, err := fmt.Sscan(spec, &owner, &outcome, &n); err != nil {
			w.t.Fatal(err)
		}
		if outcome == "completed" {
			w.exec(`INSERT INTO todos (queue, state, owner, claimed_at, completed_at, attempt, lease_seq)
				SELECT $1, 'done', $2, now() - interval '5 min', now() - i * interval '1 s', 1, 1 FROM generate_series(1, $3::int) i`, queue, owner, n)
			continue
		}
		w.exec(`WITH t AS (INSERT INTO todos (queue, attempt, lease_seq) SELECT $1, 1, 1 FROM generate_series(1, $2::int) RETURNING id)
			INSERT INTO todo_attempts (todo_id, lease_seq, attempt, owner, claimed_at, ended_at, outcome)
			SELECT id, 1, 1, $3, now() - interval '5 min', now() - interval '1 min', $4 FROM t`, queue, n, owner, outcome)
	}
}

// suspect makes one todo and its history: pairs of owner and outcome.
func (w *world) suspect(id, state string, leases ...string) {
	w.t.Helper()
	w.exec(`INSERT INTO todos (id, queue, state, attempt, lease_seq, completed_at, owner, lease_expires_at, claimed_at, max_attempts)
		VALUES ($1, 'q', $2, 1, $3, CASE WHEN $2 IN ('done', 'failed') THEN now() END, CASE WHEN $2 = 'claimed' THEN 'u@h9' END,
		        CASE WHEN $2 = 'claimed' THEN now() - interval '1 s' END, now() - interval '1 min', 9)`, id, state, len(leases)/2+1)
	for i := 0; i < len(leases); i += 2 {
		w.exec(`INSERT INTO todo_attempts (todo_id, lease_seq, attempt, owner, claimed_at, outcome) VALUES ($1, $2, 1, $3, now() - interval '1 min', $4)`,
			id, i/2+1, leases[i], leases[i+1])
	}
}

// Histories with known answers: what is poison, and what only looks like it.
func TestCrashesFindPoison(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.suspect("poison", "pending", "u@h1", "expired", "u@h2", "taken over", "u@h1", "expired")
	w.suspect("poison-dead", "failed", "u@h1", "expired", "u@h2", "expired", "u@h3", "expired")
	w.suspect("poison-lapsed", "claimed", "u@h1", "expired", "u@h2", "expired") // and a third that nobody has reaped
	w.suspect("one-owner", "pending", "u@h1", "expired", "u@h1", "expired", "u@h1", "expired")
	w.suspect("two-expiries", "pending", "u@h1", "expired", "u@h2", "expired")
	w.suspect("failed-once", "pending", "u@h1", "expired", "u@h2", "expired", "u@h3", "expired", "u@h1", "failed")
	w.suspect("released-too", "pending", "u@h1", "expired", "u@h2", "released", "u@h1", "expired")
	w.suspect("done", "done", "u@h1", "expired", "u@h2", "expired", "u@h3", "expired")
	r, err := w.Crashes(t.Context(), nil, time.Hour, 1000)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Finding{}
	for _, f := range r.Findings {
		if f.ID != nil {
			got[*f.ID] = f
		}
	}
	if len(got) != 3 || got["poison"].Expired != 3 || got["poison-lapsed"].Expired != 3 || !slices.Equal(got["poison"].Owners, []string{"u@h1", "u@h2"}) ||
		got["poison"].Command != "todoctl bury poison --reason 'fells its workers'" || got["poison-dead"].Command != "todoctl show poison-dead" {
		t.Errorf("%+v", r.Findings)
	}
	if r.Failed != 1 || r.Released != 1 || r.Expired != 3+3+3+3+2+3+2+3 {
		t.Errorf("counts: %+v", r)
	}
	if r, err = w.Crashes(t.Context(), []string{"other"}, time.Hour, 1000); err != nil || r.Leases != 0 || len(r.Findings) != 0 {
		t.Errorf("of another queue: %+v %v", r, err)
	}
}

// Histories with known answers: which host is sick.
func TestCrashesFindSickHosts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		leases []string
		sick   string
	}{
		"one of three":            {[]string{"a@h1 expired 3", "b@h1 expired 3", "a@h1 completed 4", "a@h2 completed 20", "a@h2 expired 1", "a@h3 completed 9", "a@h3 failed 3"}, "h1"},
		"exactly half":            {[]string{"a@h1 expired 5", "a@h1 completed 5", "a@h2 completed 20"}, ""},
		"too few leases":          {[]string{"a@h1 expired 4", "a@h2 completed 20"}, ""},
		"another loses a tenth":   {[]string{"a@h1 expired 9", "a@h2 completed 9", "a@h2 taken 0", "a@h2 expired 1"}, ""},
		"failures are no crashes": {[]string{"a@h1 failed 9", "a@h2 completed 9"}, ""},
		"nobody to compare with":  {[]string{"a@h1 expired 9"}, ""},
		"a name without a host":   {[]string{"batch expired 9", "a@h2 completed 9"}, "batch"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.history("q", c.leases...)
			r, err := w.Crashes(t.Context(), nil, time.Hour, 1000)
			if err != nil {
				t.Fatal(err)
			}
			sick := ""
			for _, f := range r.Findings {
				if f.Code == "sick-host" {
					sick += *f.Host
				}
			}
			if sick != c.sick {
				t.Errorf("%q is sick, want %q: %+v", sick, c.sick, r)
			}
		})
	}
}

// A reading that is cut short cuts every count at the same time, so that shares stay true.
func TestCrashesCutShort(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.history("q", "a@h1 completed 3000")
	w.suspect("late", "pending", "a@h1", "expired")
	w.exec("UPDATE todo_attempts SET ended_at = now() - interval '40 min'")
	r, err := w.Crashes(t.Context(), nil, time.Hour, 1000)
	if err != nil || !r.Estimated || r.Completed != 1000 || r.Expired != 0 {
		t.Errorf("%+v %v", r, err)
	}
	if r, err = w.Crashes(t.Context(), nil, time.Hour, 10000); err != nil || r.Estimated || r.Completed != 3000 || r.Expired != 1 {
		t.Errorf("in full: %+v %v", r, err)
	}
}
