package queue

import (
	"context"
	"testing"
)

// TestAdviseFromKnownHistories gives each queue a history whose answer is known.
func TestAdviseFromKnownHistories(t *testing.T) {
	w := newWorld(t)
	for _, sql := range []string{
		// quick: 100 runs of 1 s; slow: 50 runs of 200 s and 10 crashes; new: 3 runs.
		`INSERT INTO todos (queue, state, claimed_at, completed_at, attempt, lease_seq)
		 SELECT q, 'done', now() - interval '1 h', now() - interval '1 h' + s * interval '1 s', 1, 1
		   FROM (VALUES ('quick', 1, 100), ('slow', 200, 50), ('new', 1, 3)) v(q, s, n), generate_series(1, n)`,
		`INSERT INTO todo_attempts (todo_id, lease_seq, attempt, owner, claimed_at, ended_at, outcome)
		 SELECT id, 2, 1, 'w', now() - interval '1 h', now() - interval '50 min', 'expired' FROM todos WHERE queue = 'slow' LIMIT 10`,
	} {
		w.exec(sql)
	}
	list, err := w.Advise(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]struct {
		ttl, reap string
		expired   int64
	}{"quick": {"10s", "10s", 0}, "slow": {"10m", "1m", 10}, "new": {"5m", "1m", 0}}
	if len(list) != len(want) {
		t.Fatalf("%d queues", len(list))
	}
	for _, a := range list {
		if w := want[a.Queue]; a.TTL != w.ttl || a.ReapEvery != w.reap || a.Expired != w.expired {
			t.Errorf("%s: ttl %s, reap every %s, %d expired; want %v", a.Queue, a.TTL, a.ReapEvery, a.Expired, w)
		}
	}
}
