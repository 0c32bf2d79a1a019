package queue

import (
	"testing"
)

// On a table where too much is live or dead to look at each todo, a queue is estimated and says so, and a small one beside it is
// counted. What is asked for exactly is counted.
func TestQueuesEstimate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO todos (id, queue, run_at, state, completed_at, assignee, owner, lease_expires_at)
		SELECT 'td_01900000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'), CASE WHEN i % 1000 = 0 THEN 'small' ELSE 'big' END,
		       CASE WHEN i <= 24000 THEN now() - i * interval '1 s' ELSE now() + interval '1 h' END,
		       CASE WHEN i <= 25000 THEN 'pending' WHEN i <= 25100 THEN 'claimed' ELSE 'failed' END, CASE WHEN i > 25100 THEN now() END,
		       CASE WHEN i <= 10 THEN 'ann' END, CASE WHEN i BETWEEN 25001 AND 25100 THEN 'w' END,
		       CASE WHEN i BETWEEN 25001 AND 25100 THEN now() + interval '5 min' END
		  FROM generate_series(1, 40000) i`)
	w.exec("VACUUM ANALYZE todos")
	for _, only := range [][]string{nil, {"big", "small", "big"}} {
		list, err := w.Queues(t.Context(), only, 0)
		if err != nil || len(list) != 2 {
			t.Fatalf("%v: %+v, %v", only, list, err)
		}
		big, small := list[0], list[1]
		near := func(what string, got, want int64) {
			t.Helper()
			if got < want*3/4 || got > want*5/4 {
				t.Errorf("%v: %s %d, which is not about %d", only, what, got, want)
			}
		}
		near("pending", big.Pending, 23976)
		near("delayed", big.Delayed, 999)
		near("dead", big.Dead, 14885)
		if !big.LiveEstimated || !big.DeadEstimated || big.Claimed != 100 || big.OldestSeconds == nil || *big.OldestSeconds < 23999 {
			t.Errorf("%v: the large one is %+v", only, big)
		}
		if small.LiveEstimated || small.DeadEstimated || small.Pending != 24 || small.Delayed != 1 || small.Dead != 15 {
			t.Errorf("%v: the small one is %+v", only, small)
		}
	}
	list, err := w.Queues(t.Context(), nil, Exactly)
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	if b := list[0]; b.LiveEstimated || b.DeadEstimated || b.Pending != 23976 || b.Delayed != 999 || b.Claimed != 100 || b.Dead != 14885 {
		t.Errorf("counted exactly: %+v", b)
	}
	if list, err = w.Queues(t.Context(), []string{"no"}, 0); err != nil || len(list) != 0 {
		t.Errorf("an unknown queue: %+v, %v", list, err)
	}
}

// Ids grow with time, in whatever units: how many lie beyond the first ten is guessed from how densely these and the last three lie.
func TestApart(t *testing.T) {
	t.Parallel()
	id := func(s string) *string { return ptr("td_01900000-0000-7000-8000-" + s) }
	for name, c := range map[string]struct {
		ends []*string
		n    int64
		want float64
	}{
		"evenly":        {[]*string{id("000000000000"), id("00000000000a"), id("000000000057"), id("00000000005a")}, 10, 80},
		"side by side":  {[]*string{id("000000000000"), id("00000000000a"), id("00000000000a"), id("00000000000d")}, 10, 3},
		"all the same":  {[]*string{id("000000000000"), id("000000000000"), id("000000000000"), id("000000000000")}, 10, 10},
		"none beyond":   {[]*string{id("000000000000"), id("00000000000a"), nil, nil}, 10, 10},
		"made by hand":  {[]*string{ptr("one"), ptr("two"), ptr("three"), ptr("four")}, 10, 10},
		"spread at end": {[]*string{id("000000000000"), id("000000000000"), id("000000000001"), id("000000000002")}, 10, 16},
	} {
		if got := apart(c.ends, c.n); got != c.want {
			t.Errorf("%s: %g beyond %d, not %g", name, got, c.n, c.want)
		}
	}
}
