//go:build unix

package worker

import (
	"context"
	"time"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// expiring is how often leases are looked at that nobody could renew.
const expiring = 100 * time.Millisecond

// keep renews every lease at a third of its ttl.
func (w *Worker) keep(ctx context.Context) {
	tick := time.NewTicker(w.opt.Claim.TTL / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-w.renewNow:
		}
		w.renew(ctx, w.all())
	}
}

// expire gives up leases that are over. It asks nobody, so that it also works while the database does
// not answer. A worker that was suspended has not had the chance to ask: then it asks first, since a
// lease that nobody took is still its own.
func (w *Worker) expire(ctx context.Context) {
	tick := time.NewTicker(expiring)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, ask := time.Now(), false
		for _, h := range w.all() {
			switch over, asked := h.over(now); {
			case over && asked:
				h.lose("the lease ran out before it could be renewed" + h.why())
			case over:
				ask = true
			}
		}
		if ask {
			ring(w.renewNow)
		}
	}
}

// renew extends leases in one statement, and those that asked for more time one by one.
func (w *Worker) renew(ctx context.Context, list []*held) {
	var usual []*held
	for _, h := range list {
		if _, lost := h.isLost(); lost {
			continue
		}
		if more := time.Until(h.wanted()); more > w.opt.Claim.TTL {
			w.heartbeat(ctx, []*held{h}, more)
		} else {
			usual = append(usual, h)
		}
	}
	if len(usual) > 0 {
		w.heartbeat(ctx, usual, w.opt.Claim.TTL)
	}
}

func (w *Worker) heartbeat(ctx context.Context, list []*held, ttl time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, max(w.opt.Claim.TTL/3, time.Second))
	defer cancel()
	ttl = min(ttl, queue.MaxTTL)
	receipts := make([]todo.Receipt, len(list))
	for i, h := range list {
		receipts[i] = h.receipt
	}
	var results []queue.Renewal
	asked := time.Now()
	err := w.renews.do(func(q *queue.Client) error {
		asked = time.Now()
		var err error
		results, err = q.Renew(ctx, receipts, ttl)
		return err
	})
	switch {
	case err == nil:
		w.outage.over()
	case temporary(err):
		w.outage.began(err)
	}
	for i, h := range list {
		switch {
		case err != nil || results[i] == queue.Busy:
			h.refused(err) // expire says when that was once too often
		case results[i].Lost():
			h.lose(string(results[i]))
		default:
			h.granted(asked, ttl)
		}
	}
}
