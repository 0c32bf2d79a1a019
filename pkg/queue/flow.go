package queue

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// FlowRows is how many rows rates and times are drawn from, where no more is asked for.
const FlowRows = 20_000

// doneCap is up to how many done todos of a queue are counted before their number is estimated.
const doneCap = 1000

// Tally is one queue in numbers, done todos included.
type Tally struct {
	Counts
	Done          int64 `json:"done"`
	DoneEstimated bool  `json:"done_estimated"`
}

// Flow is one queue in numbers, with what came in and ended within a window that ends now. Rates are
// todos per second, times are seconds, and null where no todo was done in the window.
type Flow struct {
	Tally
	WindowSeconds float64  `json:"window_seconds"`
	In            float64  `json:"in_per_second"`
	Out           float64  `json:"out_per_second"` // done and dead
	Errors        *float64 `json:"error_percent"`  // leases that failed or ran out, of all that ended but those given back
	WaitP50       *float64 `json:"wait_p50_seconds"`
	WaitP95       *float64 `json:"wait_p95_seconds"` // from due to claimed
	RunP50        *float64 `json:"run_p50_seconds"`
	RunP95        *float64 `json:"run_p95_seconds"` // from claimed to completed
	DrainSeconds  *float64 `json:"drain_seconds"`   // until nothing due or leased is left; null: it does not drain
	Forecast      string   `json:"forecast"`        // the same in words
	Estimated     bool     `json:"estimated"`       // drawn from rows that cover less than the window
}

// Tallies counts the given queues, or all that are known. Done todos beyond a thousand are estimated, unless exact.
func (c *Client) Tallies(ctx context.Context, only []string, exact bool) ([]Tally, error) {
	counts, err := c.Queues(ctx, only)
	if err != nil {
		return nil, err
	}
	limit := doneCap
	if exact {
		limit = math.MaxInt32
	}
	type ended struct {
		n        int64
		estimate *int64
	}
	found := map[string]ended{}
	err = c.run(ctx, reads, func() []step {
		clear(found)
		return []step{{name: "queues_done", args: pgx.StrictNamedArgs{"queues": orNull(only), "cap": limit}, row: func(row pgx.CollectableRow) error {
			var name string
			var e ended
			err := row.Scan(&name, &e.n, &e.estimate)
			found[name] = e
			return err
		}}}
	})
	for name := range found {
		if !slices.ContainsFunc(counts, func(q Counts) bool { return q.Queue == name }) {
			counts = append(counts, Counts{Queue: name}) // all of it is done, and no enqueue has named it
		}
	}
	slices.SortFunc(counts, func(a, b Counts) int { return strings.Compare(a.Queue, b.Queue) })
	list := make([]Tally, len(counts))
	for i, q := range counts {
		e := found[q.Queue]
		list[i] = Tally{Counts: q, Done: max(e.n-q.Dead, 0)}
		if e.n == int64(limit) {
			list[i].DoneEstimated = true
			list[i].Done = max(e.n-q.Dead, 0)
			if e.estimate != nil {
				list[i].Done = max(list[i].Done, *e.estimate-q.Dead-q.live())
			}
		}
	}
	return list, err
}

func (q Counts) live() int64 { return q.Pending + q.Delayed + q.Claimed + q.Expired + q.Retrying }

// Flows counts the given queues, or all that are known, and measures them over a window. limit bounds the rows
// that rates and times are drawn from.
func (c *Client) Flows(ctx context.Context, only []string, window time.Duration, limit int, exact bool) ([]Flow, error) {
	tallies, err := c.Tallies(ctx, only, exact)
	if err != nil {
		return nil, err
	}
	found := map[string]Flow{}
	err = c.run(ctx, reads, func() []step {
		clear(found)
		return []step{{name: "queues_window", args: pgx.StrictNamedArgs{"queues": orNull(only), "window": window, "cap": limit},
			row: func(row pgx.CollectableRow) error {
				var name string
				var f Flow
				var done, bad float64
				err := row.Scan(&name, &f.In, &f.Out, &done, &bad, &f.WaitP50, &f.WaitP95, &f.RunP50, &f.RunP95, &f.Estimated)
				if done+bad > 0 {
					share := 100 * bad / (done + bad)
					f.Errors = &share
				}
				found[name] = f
				return err
			}}}
	})
	list := make([]Flow, len(tallies))
	for i, t := range tallies {
		f := found[t.Queue]
		f.Tally, f.WindowSeconds = t, window.Seconds()
		f.forecast()
		list[i] = f
	}
	return list, err
}

// forecast says when a queue is empty if it goes on like this. What is delayed waits for its time, not for a worker.
func (f *Flow) forecast() {
	mark := ""
	if f.Estimated {
		mark = "~"
	}
	backlog := float64(f.live() - f.Delayed)
	switch net := f.Out - f.In; {
	case backlog == 0:
		f.DrainSeconds, f.Forecast = new(float64), "empty"
	case net > 0:
		seconds := backlog / net
		f.DrainSeconds = &seconds
		f.Forecast = mark + "drains in " + length(time.Duration(math.Min(seconds, 1e9)*float64(time.Second)))
	case f.Out == 0:
		f.Forecast = "does not drain: nothing ended"
	case net == 0:
		f.Forecast = mark + "does not drain: stays as deep"
	default:
		f.Forecast = fmt.Sprintf("%sdoes not drain: +%.3g a minute", mark, -60*net)
	}
}
