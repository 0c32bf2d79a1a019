package queue

import (
	"math"
	"slices"
	"testing"
	"time"
)

func about(got *float64, want float64) bool {
	return got != nil && math.Abs(*got-want) <= 0.01*math.Abs(want)+0.001
}

// Seeded histories with known rates, times and forecasts: an hour in which each queue took in and ended so many.
func TestFlowsOfKnownHistories(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// Of 100 that were done each waited 30 s and ran 1 to 100 s; half an hour ago on average, each due 2 h ago or at its creation.
	w.exec(`INSERT INTO todos (queue, state, created_at, run_at, claimed_at, completed_at, attempt, lease_seq)
		SELECT 'drains', 'done', now() - interval '2 h', c.at - interval '30 s', c.at, c.at + i * interval '1 s', 1, 1
		  FROM generate_series(1, 100) i CROSS JOIN LATERAL (SELECT now() - interval '50 min' + i * interval '20 s' AS at) c`)
	w.exec(`INSERT INTO todos (queue, created_at, run_at) SELECT 'drains', now() - i * interval '1 min', now() - i * interval '1 min' FROM generate_series(1, 40) i
		UNION ALL SELECT 'drains', now() - interval '3 h', now() + interval '3 h' FROM generate_series(1, 7) i
		UNION ALL SELECT 'grows', now() - i * interval '1 s', now() FROM generate_series(1, 1800) i
		UNION ALL SELECT 'stuck', now() - interval '3 h', now() FROM generate_series(1, 5) i`)
	w.exec(`INSERT INTO todos (queue, state, created_at, completed_at, attempt, lease_seq) SELECT 'grows', 'failed', now() - interval '2 h', now() - i * interval '1 min', 1, 1 FROM generate_series(1, 18) i
		UNION ALL SELECT 'old', 'done', now() - interval '5 h', now() - interval '4 h', 1, 1`)
	// 25 leases failed or ran out, and 10 were given back, which is no error: 25 of 125 are 20 %.
	w.exec(`WITH t AS (INSERT INTO todos (queue, state, created_at, completed_at, attempt, lease_seq) SELECT 'drains', 'done', now() - interval '9 h', now() - interval '8 h', 1, 1 FROM generate_series(1, 36) RETURNING id)
		INSERT INTO todo_attempts (todo_id, lease_seq, attempt, outcome, ended_at) SELECT id, 1, 1, CASE WHEN row_number() OVER () <= 10 THEN 'released' WHEN row_number() OVER () <= 30 THEN 'failed' ELSE 'expired' END,
		       now() - CASE WHEN row_number() OVER () = 36 THEN interval '2 h' ELSE interval '10 min' END FROM t`)
	list, err := w.Flows(t.Context(), nil, time.Hour, FlowRows, false)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Flow{}
	for _, f := range list {
		found[f.Queue] = f
	}
	d := found["drains"]
	if !about(&d.In, 40.0/3600) || !about(&d.Out, 100.0/3600) || !about(d.Errors, 20) || !about(d.WaitP50, 30) || !about(d.WaitP95, 30) ||
		!about(d.RunP50, 50.5) || !about(d.RunP95, 95.05) || !about(d.DrainSeconds, 40*3600/60) || d.Forecast != "drains in 40m" || d.Estimated || d.Done != 136 || d.DoneEstimated {
		t.Errorf("drains: %+v %v %v %v %v %v", d, *d.Errors, *d.WaitP50, *d.RunP50, *d.RunP95, *d.DrainSeconds)
	}
	g := found["grows"]
	if !about(&g.In, 0.5) || !about(&g.Out, 18.0/3600) || g.DrainSeconds != nil || g.Forecast != "does not drain: +29.7 a minute" || g.RunP50 != nil || g.Errors != nil {
		t.Errorf("grows: %+v", g)
	}
	if s := found["stuck"]; s.DrainSeconds != nil || s.Forecast != "does not drain: nothing ended" || s.In != 0 || s.Out != 0 {
		t.Errorf("stuck: %+v", s)
	}
	if o := found["old"]; !about(o.DrainSeconds, 0) || o.Forecast != "empty" || o.Out != 0 || o.Done != 1 {
		t.Errorf("old: %+v", o)
	}
	if only, err := w.Flows(t.Context(), []string{"grows"}, time.Minute, FlowRows, false); err != nil || len(only) != 1 || !about(&only[0].In, 59.0/60) && !about(&only[0].In, 1) {
		t.Errorf("of one queue in a minute: %+v %v", only, err)
	}
}

// Where the newest rows cover less than the window, the rate is that of what they cover; done todos beyond a thousand are estimated.
func TestFlowsAreEstimatedFromTheNewest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO todos (id, queue, state, created_at, run_at, claimed_at, completed_at, attempt, lease_seq)
		SELECT 'td_' || lpad((9999 - i)::text, 4, '0'), 'q', 'done', now() - i * interval '1 s', now() - i * interval '1 s', now() - i * interval '1 s', now() - i * interval '1 s', 1, 1 FROM generate_series(1, 3000) i`)
	list, err := w.Flows(t.Context(), nil, time.Hour, 1000, false)
	if err != nil || len(list) != 1 || !list[0].Estimated || !about(&list[0].In, 1) || !about(&list[0].Out, 1) {
		t.Errorf("%+v %v", list, err)
	}
	if list, err = w.Flows(t.Context(), nil, time.Hour, math.MaxInt32, true); err != nil || list[0].Estimated || !about(&list[0].Out, 3000.0/3600) || list[0].Done != 3000 || list[0].DoneEstimated {
		t.Errorf("exactly: %+v %v", list, err)
	}
	if list, err := w.Tallies(t.Context(), nil, false); err != nil || list[0].Done < 2950 || list[0].Done > 3050 || !list[0].DoneEstimated {
		t.Errorf("without statistics: %+v %v", list, err)
	}
	w.exec("ANALYZE todos")
	if list, err := w.Tallies(t.Context(), nil, false); err != nil || list[0].Done != 3000 || !list[0].DoneEstimated {
		t.Errorf("with statistics: %+v %v", list, err)
	}
}

// Who holds what, in the pool and among what is assigned.
func TestOwners(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO todos (id, queue, assignee, state, owner, lease_expires_at, claimed_at, updated_at, attempt, lease_seq)
		VALUES ('a1', 'p', NULL, 'claimed', 'ann', now() + interval '9 min', now() - interval '5 min', now() - interval '1 min', 1, 1),
		('a2', 'q', 'ann', 'claimed', 'ann', now() + interval '2 min', now() - interval '3 min', now() - interval '3 min', 1, 1),
		('a3', 'q', NULL, 'claimed', 'ann', now() - interval '2 min', now() - interval '8 min', now() - interval '8 min', 1, 1),
		('b1', 'q', NULL, 'claimed', 'bob', now() + interval '1 min', now(), now(), 1, 1),
		('c1', 'q', 'cid', 'claimed', 'cid', now() - interval '1 min', now(), now(), 1, 1)`)
	w.exec(`INSERT INTO todos (queue, run_at) SELECT 'q', now() + i * interval '1 s' FROM generate_series(-50, 50) i`)
	list, _, err := w.Owners(t.Context(), nil, 10000)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, h := range list {
		names = append(names, h.Owner)
	}
	if !slices.Equal(names, []string{"bob", "ann", "cid"}) {
		t.Fatalf("%v", names)
	}
	ann := list[1]
	if ann.Leases != 2 || ann.Expired != 1 || !slices.Equal(ann.Queues, []string{"p", "q"}) || *ann.NextID != "a2" || ann.Estimated || list[2].NextID != nil || list[2].Expired != 1 {
		t.Errorf("%+v", list)
	}
	if at, ok := ann.Last.Time(); !ok || time.Since(at) < 50*time.Second || time.Since(at) > 2*time.Minute {
		t.Errorf("the last trace of ann is %s", ann.Last)
	}
	if list, _, err = w.Owners(t.Context(), []string{"p"}, 10000); err != nil || len(list) != 1 || list[0].Leases != 1 {
		t.Errorf("of one queue: %+v %v", list, err)
	}
	w.exec(`INSERT INTO todos (queue, run_at) SELECT 'q', now() + interval '1 s' FROM generate_series(1, 200) i`)
	if _, short, err := w.Owners(t.Context(), []string{"q"}, 1); err != nil || !short {
		t.Errorf("read in part: %+v %v", list, err)
	}
}
