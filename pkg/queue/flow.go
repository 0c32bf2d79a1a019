package queue

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
)

// FlowRows is how many rows rates and times are drawn from, where no more is asked for.
const FlowRows = 20_000

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

// Tallies counts the given queues, or all that are known, with their done todos: up to a thousand of a queue, beyond that
// they are estimated. exact estimates nothing, neither of these nor of what Queues counts.
func (c *Client) Tallies(ctx context.Context, only []string, exact bool) ([]Tally, error) {
	x, least := census{only: only}, 0
	if exact {
		least = Exactly
	}
	ended, more := map[string]int64{}, map[string]float64{}
	err := c.run(ctx, reads, func() []step {
		x.reset()
		clear(ended)
		clear(more)
		return append(x.steps(least), step{name: "queues_done", args: pgx.StrictNamedArgs{"queues": orNull(only), "exact": exact},
			row: func(row pgx.CollectableRow) error {
				var name string
				var n int64
				var capped bool
				var span, ends *float64
				err := row.Scan(&name, &n, &capped, &span, &ends)
				if ended[name] = n; capped {
					more[name] = between(n, span, ends)
				}
				x.queue(name).found = true // it may be that all of it is done, and that no enqueue has named it
				return err
			}})
	})
	left, guessed := float64(x.known.every-x.known.live), 0.0
	for name, n := range ended {
		left, guessed = left-float64(n), guessed+more[name]
	}
	counts := x.counts()
	list := make([]Tally, len(counts))
	for i, q := range counts {
		rest, capped := more[q.Queue]
		list[i] = Tally{Counts: q, DoneEstimated: capped, Done: max(ended[q.Queue]+int64(rest*x.scale(left, guessed))-q.Dead, 0)}
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
