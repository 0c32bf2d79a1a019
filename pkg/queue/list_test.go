package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// ids lists what a filter matches.
func (w *world) ids(f Filter, p Page, s *Scanned) []string {
	w.t.Helper()
	list := []string{}
	for t, err := range w.List(w.t.Context(), f, p, s) {
		if err != nil {
			w.t.Fatal(err)
		}
		list = append(list, t.ID)
	}
	return list
}

// Lists are the same whether few todos match, which are then found by the indexes of the live and the
// dead, or many, for which the table is walked in id order.
func TestListOfFewAndOfMany(t *testing.T) {
	for name, rows := range map[string]int{"few": 900, "many": 24_000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.exec(`INSERT INTO todos (id, queue, state, assignee, idempotency_key, owner, claimed_at, lease_expires_at, completed_at, next_retry_at, error, fingerprint, attempt, lease_seq, payload)
			SELECT 'td_' || to_char(i, 'FM000000'), 'q' || i % 3, CASE i % 9 WHEN 0 THEN 'done' WHEN 1 THEN 'failed' WHEN 2 THEN 'failed' WHEN 3 THEN 'claimed' WHEN 4 THEN 'claimed' ELSE 'pending' END,
			       CASE WHEN i % 5 = 0 THEN 'x' END, 'k' || i, CASE WHEN i % 9 < 5 THEN 'o' || i % 2 END, CASE WHEN i % 9 < 5 THEN now() END,
			       CASE i % 9 WHEN 3 THEN now() + interval '1 h' WHEN 4 THEN now() - interval '1 h' END, CASE WHEN i % 9 < 2 THEN now() END,
			       CASE WHEN i % 9 = 2 THEN now() + interval '1 h' END, CASE WHEN i % 9 < 3 THEN 'boom ' || i % 4 END, CASE WHEN i % 9 < 3 THEN 'f' || i % 4 END, 1, 1,
			       jsonb_build_object('n', i % 11)
			  FROM generate_series(1, $1::int) i`, rows)
			is := func(states ...todo.Condition) []todo.Condition { return states }
			for _, c := range []struct {
				f     Filter
				where string
			}{
				{Filter{}, "true"},
				{Filter{Conditions: is(todo.IsPending)}, "state = 'pending'"},
				{Filter{Conditions: is(todo.IsClaimed, todo.IsExpired)}, "state = 'claimed'"},
				{Filter{Conditions: is(todo.IsExpired), Queues: []string{"q0", "q1"}}, "state = 'claimed' AND lease_expires_at < now() AND queue IN ('q0', 'q1')"},
				{Filter{Conditions: is(todo.IsDead)}, "state = 'failed' AND next_retry_at IS NULL"},
				{Filter{Conditions: is(todo.IsDead, todo.IsRetrying), Queues: []string{"q1"}}, "state = 'failed' AND queue = 'q1'"},
				{Filter{Conditions: is(todo.IsDone)}, "state = 'done'"},
				{Filter{Conditions: is(todo.IsDone, todo.IsPending)}, "state IN ('done', 'pending')"},
				{Filter{Conditions: is(todo.IsPending, todo.IsDead), Assignees: []string{"x"}}, "(state = 'pending' OR state = 'failed' AND next_retry_at IS NULL) AND assignee = 'x'"},
				{Filter{Conditions: is(todo.IsClaimed, todo.IsDead), Owners: []string{"o1"}}, "state = 'claimed' AND lease_expires_at > now() AND owner = 'o1'"},
				{Filter{Conditions: is(todo.IsPending, todo.IsDead), Keys: []string{"k10", "k14", "k9"}}, "(state = 'pending' OR state = 'failed' AND next_retry_at IS NULL) AND idempotency_key IN ('k10', 'k14', 'k9')"},
				{Filter{Conditions: is(todo.IsDead), Fingerprints: []string{"f2"}}, "state = 'failed' AND next_retry_at IS NULL AND fingerprint = 'f2'"},
				{Filter{Conditions: is(todo.IsDead, todo.IsRetrying), Error: ptr("m 3$")}, "state = 'failed' AND error = 'boom 3'"},
				{Filter{Conditions: is(todo.IsPending), Payload: ptr(`{"n": 3}`)}, "state = 'pending' AND payload = '{\"n\": 3}'"},
			} {
				for _, p := range []Page{{}, {Limit: 1}, {After: "td_000400", Limit: 1100}} {
					sql := fmt.Sprintf("SELECT id FROM todos WHERE %s AND id > '%s' ORDER BY id", c.where, p.After)
					if p.Limit > 0 {
						sql += fmt.Sprint(" LIMIT ", p.Limit)
					}
					got := strings.Join(w.ids(c.f, p, &Scanned{}), "\n")
					if want := w.text(sql); got != want {
						t.Errorf("%s, %+v: %d bytes of ids, not %d", c.where, p, len(got), len(want))
					}
				}
			}
		})
	}
}

// Filters without an index stop at the scan limit and say so, but not when they were at the end anyway.
func TestListScanLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO todos (id, queue, payload) SELECT 'td_' || to_char(i, 'FM0000'), 'q', to_jsonb(i) FROM generate_series(1, 50) i`)
	for name, conditions := range map[string][]todo.Condition{"by the index of the live": {todo.IsPending}, "by a walk": nil} {
		for limit, short := range map[int]bool{49: true, 51: false} {
			var s Scanned
			got := w.ids(Filter{Conditions: conditions, Payload: ptr("50"), ScanLimit: limit}, Page{}, &s)
			if s.Short != short || (len(got) == 0) != short {
				t.Errorf("%s, limit %d: found %v, cut short: %v", name, limit, got, s.Short)
			}
		}
	}
}

// For people the limit holds for whatever has no index. Rows that match, and rows that are passed over between two of them where a
// list is of queues and states alone, do not count.
func TestListBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO todos (id, queue, kind, state, completed_at) SELECT 'td_' || to_char(i, 'FM00000'), CASE WHEN i <= 12000 THEN 'old' ELSE 'new' END,
		CASE i % 4000 WHEN 0 THEN 'rare' ELSE 'often' END, 'done', now() FROM generate_series(1, 24000) i`)
	for name, c := range map[string]struct {
		f     Filter
		limit int
		found int
		short bool
	}{
		"one kind":              {Filter{Kinds: []string{"rare"}, ScanLimit: 23_995}, 0, 6, false},
		"one kind, cut short":   {Filter{Kinds: []string{"rare"}, ScanLimit: 10_000}, 0, 2, true},
		"what is often":         {Filter{Kinds: []string{"often"}, ScanLimit: 100}, 0, 23_994, false},
		"a queue":               {Filter{Queues: []string{"new"}, ScanLimit: 12_001}, 0, 12_000, false},
		"a queue, cut short":    {Filter{Queues: []string{"new"}, ScanLimit: 11_000}, 0, 0, true},
		"the first of a queue":  {Filter{Queues: []string{"old"}, ScanLimit: 1}, 5, 5, false},
		"one kind of no queue":  {Filter{Kinds: []string{"rare"}, Queues: []string{"no"}, ScanLimit: 1}, 5, 0, true},
		"the second of a state": {Filter{Conditions: []todo.Condition{todo.IsDone}, ScanLimit: 1}, 2, 2, false},
	} {
		var s Scanned
		if got := w.ids(c.f, Page{Limit: c.limit, Bounded: true}, &s); len(got) != c.found || s.Short != c.short {
			t.Errorf("%s: found %d, cut short: %v", name, len(got), s.Short)
		}
		if got := w.ids(c.f, Page{Limit: c.limit}, &s); s.Short {
			t.Errorf("%s: a list that is not bounded was cut short after %d", name, len(got))
		}
	}
}

// What a filter matched and what has changed since is judged by the row as it is now.
func TestListSeesChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO todos (id, queue) SELECT 'td_' || to_char(i, 'FM0000'), 'q' FROM generate_series(1, 1500) i`)
	var got []string
	for item, err := range w.List(t.Context(), Filter{Conditions: []todo.Condition{todo.IsPending}}, Page{}, &Scanned{}) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, item.ID); len(got) == 1000 {
			w.exec("UPDATE todos SET state = 'failed', completed_at = now() WHERE id > 'td_1100'")
		}
	}
	if len(got) != 1100 || !slices.IsSorted(got) {
		t.Errorf("%d todos, the last %s", len(got), got[len(got)-1])
	}
}

// A list of what was done since a time is read off the index of what ended: it is what a walk in the order of ids finds.
func TestListOfDoneSince(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO todos (id, queue, state, completed_at, owner, lease_expires_at) SELECT 'td_' || lpad(i::text, 3, '0'), 'q' || i % 3, (ARRAY['done', 'failed', 'pending', 'claimed'])[1 + i % 4],
		CASE WHEN i % 4 < 2 THEN now() - i * interval '1 min' END, CASE WHEN i % 4 = 3 THEN 'w' END, CASE WHEN i % 4 = 3 THEN now() + interval '1 h' END FROM generate_series(0, 119) i`)
	hour := time.Hour
	for name, c := range map[string]struct {
		f     Filter
		after string
		want  string
	}{
		"all":       {Filter{}, "", "i % 4 = 0 AND i < 60"},
		"of queues": {Filter{Queues: []string{"q1", "q2"}}, "", "i % 4 = 0 AND i < 60 AND i % 3 > 0"},
		"after":     {Filter{}, "td_020", "i % 4 = 0 AND i < 60 AND i > 20"},
	} {
		c.f.Conditions, c.f.Since = []todo.Condition{todo.IsDone}, Moment{Back: &hour}
		if by, _ := c.f.lead(); by != "list_ended" {
			t.Errorf("%s: not by the index", name)
		}
		want := w.text("SELECT 'td_' || lpad(i::text, 3, '0') FROM generate_series(0, 119) i WHERE " + c.want + " ORDER BY 1")
		if got := strings.Join(w.ids(c.f, Page{After: c.after}, &Scanned{}), "\n"); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if n := len(w.ids(Filter{Conditions: []todo.Condition{todo.IsClaimed, todo.IsExpired}}, Page{}, &Scanned{})); n != 30 {
		t.Errorf("%d are leased, not 30", n)
	}
	if n := len(w.ids(Filter{Conditions: []todo.Condition{todo.IsDelayed, todo.IsPending, todo.IsDead}}, Page{}, &Scanned{})); n != 60 {
		t.Errorf("%d are pending or dead, not 60", n)
	}
}

// When todos were created is looked for where their ids were made, so that what came before does not count.
func TestListOfCreated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO todos (id, queue, state, created_at, completed_at) SELECT 'td_' || lpad(to_hex(ms >> 16), 8, '0') || '-' || lpad(to_hex(ms & 65535), 4, '0') || '-7000-8000-' || lpad(i::text, 12, '0'),
		'q', (ARRAY['done', 'failed'])[1 + i % 2], at, at FROM (SELECT i, at, (extract(epoch FROM at) * 1000)::bigint AS ms FROM generate_series(0, 2399) i, LATERAL (SELECT now() - i * interval '1 h' AS at) a) x`)
	w.exec("INSERT INTO todos (queue, state, completed_at) SELECT 'q', 'failed', now() FROM generate_series(1, 3)")
	if got := w.text("SELECT count(*)::text FROM todos WHERE id ~ '^td_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$' AND id > '" + idFrom(time.Now().Add(-time.Minute)) + "' AND id < '" + idFrom(time.Now().Add(time.Minute)) + "'"); got != "4" {
		t.Errorf("%s ids have the time in them, not 4", got)
	}
	hour := func(n int) Moment { return Moment{Back: ptr(time.Duration(n)*time.Hour - time.Minute)} }
	for name, c := range map[string]struct {
		f     Filter
		found int
	}{
		"since":                 {Filter{CreatedSince: hour(10)}, 10 + 3},
		"until":                 {Filter{CreatedUntil: hour(2390)}, 10},
		"since and until":       {Filter{CreatedSince: hour(1010), CreatedUntil: hour(1000)}, 10},
		"dead ones since":       {Filter{CreatedSince: hour(10), Conditions: []todo.Condition{todo.IsDead}}, 5 + 3},
		"of ages ago":           {Filter{CreatedUntil: hour(2_000_000)}, 0},
		"what is not there yet": {Filter{CreatedSince: hour(-10)}, 0},
	} {
		c.f.ScanLimit = 100
		var s Scanned
		if got := w.ids(c.f, Page{Bounded: true}, &s); len(got) != c.found || s.Short {
			t.Errorf("%s: found %d, want %d, cut short: %v", name, len(got), c.found, s.Short)
		}
		if got := w.ids(c.f, Page{}, &s); len(got) != c.found {
			t.Errorf("%s: found %d where it is not bounded, want %d", name, len(got), c.found)
		}
	}
}
