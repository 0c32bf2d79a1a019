package queue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// mixed fills the database with todos in every state: some of those that are retried, pending, done or dead have failed before, keys
// are used again after their todo has ended, and of the dead one in ten does not say when it died.
func (w *world) mixed(rows int) {
	w.t.Helper()
	w.exec(fmt.Sprintf(`INSERT INTO todos (id, queue, kind, state, idempotency_key, owner, lease_expires_at, next_retry_at, completed_at, updated_at, fingerprint, error, attempt, lease_seq)
		SELECT 'td_' || to_char(i, 'FM00000'), 'q' || i %% 7, 'k' || i %% 11, s, CASE WHEN i %% 3 = 0 THEN 'key-' || CASE WHEN s IN ('done', 'failed') AND i %% 10 > 1 THEN i %% 50 ELSE i END END,
		       CASE WHEN s = 'claimed' THEN 'o' END, CASE WHEN s = 'claimed' THEN now() + (i %% 9 - 4) * interval '1 h' END,
		       CASE WHEN s = 'failed' AND i %% 10 = 1 THEN now() + (i %% 50 - 20) * interval '1 min' END,
		       CASE WHEN s = 'done' OR s = 'failed' AND i %% 10 > 1 AND i %% 100 <> 33 THEN now() - (i * 7919 %% 10000) * interval '1 s' END,
		       now() - (i * 7919 %% 10000) * interval '1 s', CASE WHEN i %% 13 = 0 OR s = 'failed' AND i %% 10 > 1 THEN 'f' || i / 10 %% 5 END, NULL, 1, 1
		  FROM generate_series(1, %d) i, (VALUES (ARRAY['pending', 'failed', 'claimed', 'failed', 'done', 'done', 'done', 'done', 'failed', 'pending'])) x(states), LATERAL (SELECT states[1 + i %% 10] AS s) y`, rows))
}

// Whatever index leads to them: a list has what its filter matches by each row's own words.
func TestListByEveryLead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mixed(3000)
	back := 90 * time.Minute
	const since = "coalesce(completed_at, updated_at) >= now() - interval '90 min'"
	const retrying, dead = "(state = 'failed' AND next_retry_at IS NOT NULL)", "(state = 'failed' AND next_retry_at IS NULL)"
	for name, c := range map[string]struct {
		f           Filter
		lead, where string
	}{
		"key":                         {Filter{Keys: []string{"key-9", "key-30"}}, "list_keys", "idempotency_key IN ('key-9', 'key-30')"},
		"key of live ones":            {Filter{Keys: []string{"key-2910", "key-9"}, Conditions: []todo.Condition{todo.IsPending, todo.IsRetrying}}, "list_keys", "idempotency_key IN ('key-2910', 'key-9') AND (state = 'pending' OR " + retrying + ")"},
		"key of dead ones of a queue": {Filter{Keys: []string{"key-18"}, Queues: []string{"q2", "q3"}, Conditions: []todo.Condition{todo.IsDead}}, "list_keys", "idempotency_key = 'key-18' AND queue IN ('q2', 'q3') AND " + dead},
		"fingerprint":                 {Filter{Fingerprints: []string{"f1", "f3"}}, "list_failures", "fingerprint IN ('f1', 'f3')"},
		"fingerprint of live ones":    {Filter{Fingerprints: []string{"f2"}, Conditions: []todo.Condition{todo.IsPending, todo.IsDelayed, todo.IsClaimed, todo.IsExpired, todo.IsRetrying}}, "list_failures", "fingerprint = 'f2' AND available_at IS NOT NULL"},
		"fingerprint of done ones":    {Filter{Fingerprints: []string{"f2"}, Conditions: []todo.Condition{todo.IsDone}}, "list_failures", "fingerprint = 'f2' AND state = 'done'"},
		"fingerprint of dead ones":    {Filter{Fingerprints: []string{"f2"}, Conditions: []todo.Condition{todo.IsDead}}, "", "fingerprint = 'f2' AND " + dead},
		"two fingerprints, dead":      {Filter{Fingerprints: []string{"f2", "f3"}, Conditions: []todo.Condition{todo.IsDead}}, "list_failures", "fingerprint IN ('f2', 'f3') AND " + dead},
		"retrying":                    {Filter{Conditions: []todo.Condition{todo.IsRetrying}}, "list_failures", retrying},
		"retrying of a queue":         {Filter{Queues: []string{"q1"}, Conditions: []todo.Condition{todo.IsRetrying}}, "list_failures", "queue = 'q1' AND " + retrying},
		"done since":                  {Filter{Since: Moment{Back: &back}, Conditions: []todo.Condition{todo.IsDone}}, "list_ended", "state = 'done' AND " + since},
		"dead since":                  {Filter{Since: Moment{Back: &back}, Queues: []string{"q1", "q2"}, Conditions: []todo.Condition{todo.IsDead}}, "list_ended", "queue IN ('q1', 'q2') AND " + dead + " AND " + since},
		"done or dead since":          {Filter{Since: Moment{Back: &back}, Kinds: []string{"k3"}, Conditions: []todo.Condition{todo.IsDone, todo.IsDead}}, "list_ended", "kind = 'k3' AND available_at IS NULL AND " + since},
	} {
		want := w.text("SELECT coalesce(string_agg(id, E'\\n' ORDER BY id), '') FROM todos WHERE " + c.where)
		if lead, _ := c.f.lead(); lead != c.lead || want == "" {
			t.Errorf("%s: by %q, %d bytes", name, lead, len(want))
		}
		for _, p := range []Page{{}, {Limit: 5000, Bounded: true, Line: true}} {
			if got := strings.Join(w.ids(c.f, p, &Scanned{}), "\n"); got != want {
				t.Errorf("%s: %d bytes of ids, not %d: %s", name, len(got), len(want), got)
			}
		}
	}
}

// Where many have ended, a page of them is in the order in which they did, whole and page by page.
func TestListInTheOrderOfEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mixed(25_000)
	until := time.Minute
	// Not so long before now: what a list begins with would go on meanwhile.
	back := time.Now().Add(-150 * time.Minute)
	w.exec("CREATE FUNCTION back() RETURNS timestamptz LANGUAGE sql AS $$ SELECT '" + back.Format(time.RFC3339Nano) + "'::timestamptz $$")
	const at = "coalesce(completed_at, updated_at)"
	both := []todo.Condition{todo.IsDone, todo.IsDead}
	for where, f := range map[string]Filter{
		"available_at IS NULL AND " + at + " >= back()":                                                              {Conditions: both, Since: Moment{At: &back}},
		"state = 'done' AND " + at + " < now() - interval '1 min'":                                                   {Conditions: both[:1], Until: Moment{Back: &until}},
		"state = 'failed' AND available_at IS NULL AND " + at + " < now() - interval '1 min'":                        {Conditions: both[1:], Until: Moment{Back: &until}},
		"available_at IS NULL AND kind = 'k3' AND queue = 'q4' AND " + at + " < now() - interval '1 min'":            {Conditions: both, Kinds: []string{"k3"}, Queues: []string{"q4"}, Until: Moment{Back: &until}},
		"available_at IS NULL AND kind = 'none' AND " + at + " < now() - interval '1 min'":                           {Conditions: both, Kinds: []string{"none"}, Until: Moment{Back: &until}},
		"state = 'failed' AND available_at IS NULL AND fingerprint = 'f2' AND " + at + " < now() - interval '1 min'": {Conditions: both[1:], Fingerprints: []string{"f2"}, Until: Moment{Back: &until}},
	} {
		order := at + ", id"
		if len(f.Fingerprints) > 0 { // these have an index in the order of ids
			order = "id"
		}
		want := strings.Fields(w.text("SELECT coalesce(string_agg(id, ' ' ORDER BY " + order + "), '') FROM todos WHERE " + where))
		for _, n := range []int{7, 900} {
			var got []string
			for pages := 0; pages < 4; pages++ {
				p := Page{Limit: n, Bounded: true, Line: true}
				if len(got) > 0 {
					p.After = got[len(got)-1]
				}
				ids := w.ids(f, p, &Scanned{})
				if got = append(got, ids...); len(ids) < n {
					break
				}
			}
			if most := min(len(want), 4*n); strings.Join(got, " ") != strings.Join(want[:most], " ") {
				t.Errorf("%s, pages of %d: %d ids, not %d: %.200q, want %.200q", where, n, len(got), most, got, want)
			}
		}
	}
	// The scan limit holds for what is left out, and is told.
	var s Scanned
	if got := w.ids(Filter{Conditions: both, Kinds: []string{"none"}, Until: Moment{Back: &until}, ScanLimit: 2000}, Page{Limit: 5, Bounded: true, Line: true}, &s); len(got) != 0 || !s.Short {
		t.Errorf("found %v, cut short: %v", got, s.Short)
	}
}
