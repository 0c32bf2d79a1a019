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

// AdviseRows is how many of the newest todos the advice is drawn from.
const AdviseRows = 10_000

// enough is how many leases it takes before a percentile says anything.
const enough = 20

// Advice is what the history of a queue says about its leases.
type Advice struct {
	Queue     string   `json:"queue"`
	Leases    int64    `json:"leases"` // that ended by themselves, among the newest todos
	P50       *float64 `json:"p50_seconds"`
	P99       *float64 `json:"p99_seconds"`
	Longest   *float64 `json:"longest_seconds"`
	Expired   int64    `json:"expired"`         // leases that ran out
	Noticed   *float64 `json:"noticed_seconds"` // from claim until that was noticed, in the middle
	TTL       string   `json:"ttl"`             // advised
	ReapEvery string   `json:"reap_every"`      // advised
	Why       string   `json:"why"`
}

// Advise measures how long leases were needed, and advises a ttl and a cadence for the reaper.
func (c *Client) Advise(ctx context.Context, queues []string) ([]Advice, error) {
	var list []Advice
	err := c.run(ctx, reads, func() []step {
		list = nil
		return []step{{name: "leases_advise", args: pgx.StrictNamedArgs{"queues": orNull(queues), "rows": AdviseRows},
			row: func(row pgx.CollectableRow) error {
				var a Advice
				err := row.Scan(&a.Queue, &a.Leases, &a.P50, &a.P99, &a.Longest, &a.Expired, &a.Noticed)
				a.judge()
				list = append(list, a)
				return err
			}}}
	})
	slices.SortFunc(list, func(a, b Advice) int { return strings.Compare(a.Queue, b.Queue) })
	return list, err
}

// judge draws the conclusion. A worker that renews its lease at a third of it needs a ttl that covers
// a missed renewal; one that does not renew needs one that covers its slowest run.
func (a *Advice) judge() {
	if a.Leases < enough {
		a.TTL, a.ReapEvery = short(DefaultTTL), "1m"
		a.Why = fmt.Sprintf("only %d leases to judge by; these are the defaults", a.Leases)
		return
	}
	need := math.Max(2**a.P99, *a.Longest*1.2)
	ttl := roundUp(time.Duration(math.Min(need, MaxTTL.Seconds()) * float64(time.Second)))
	a.TTL = short(ttl)
	a.ReapEvery = short(min(max(ttl/2, 10*time.Second), time.Minute))
	a.Why = fmt.Sprintf("99%% of the work took under %.3gs, the longest %.3gs", *a.P99, *a.Longest)
	if share := float64(a.Expired) / float64(a.Leases+a.Expired); share > 0.01 {
		a.Why += fmt.Sprintf("; %.0f%% of the leases ran out: crashes, or work that outlived its lease", 100*share)
	}
}

// roundUp rounds to a length that one would type.
func roundUp(d time.Duration) time.Duration {
	for _, step := range []time.Duration{10 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
		10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 12 * time.Hour, 24 * time.Hour} {
		if d <= step {
			return step
		}
	}
	return MaxTTL
}

// short prints a duration as one would type it.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
