//go:build unix

package worker

import (
	"context"
	"errors"
	"time"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// keep renews every lease at a third of its ttl. One that cannot be renewed until it is over counts
// as lost: somebody else may have it by then.
func (w *Worker) keep(ctx context.Context) {
	every := max(w.opt.Claim.TTL/3, 100*time.Millisecond)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		w.renew(ctx, w.all(), every)
	}
}

// expire gives up leases that have not been renewed for their whole length. It asks nobody, so that
// it also works while the database does not answer.
func (w *Worker) expire(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for _, h := range w.all() {
				h.mu.Lock()
				over := now.Sub(h.renewed) > w.opt.Claim.TTL && now.After(h.until)
				h.mu.Unlock()
				if over {
					h.lose("the lease ran out before it could be renewed")
				}
			}
		}
	}
}

// renew extends leases in one statement, and those that asked for more time one by one.
func (w *Worker) renew(ctx context.Context, list []*held, limit time.Duration) {
	var usual []*held
	for _, h := range list {
		h.mu.Lock()
		more := time.Until(h.wants)
		h.mu.Unlock()
		if more > w.opt.Claim.TTL {
			w.heartbeat(ctx, []*held{h}, more, limit)
		} else {
			usual = append(usual, h)
		}
	}
	if len(usual) > 0 {
		w.heartbeat(ctx, usual, w.opt.Claim.TTL, limit)
	}
}

func (w *Worker) heartbeat(ctx context.Context, list []*held, ttl, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, max(limit, time.Second))
	defer cancel()
	receipts := make([]todo.Receipt, len(list))
	for i, h := range list {
		receipts[i] = h.receipt
	}
	asked := time.Now()
	var results []queue.Result
	err := w.store.do(func(q *queue.Client) error {
		var err error
		results, err = q.Heartbeat(ctx, queue.LeaseParams{Receipts: receipts}, min(ttl, queue.MaxTTL))
		return err
	})
	if err != nil {
		return // expire says when that was once too often
	}
	for i, h := range list {
		if i >= len(results) {
			break
		}
		if e := results[i].Error; e == nil {
			h.mu.Lock()
			h.renewed = asked
			if ttl > w.opt.Claim.TTL {
				h.until = asked.Add(ttl)
			}
			h.mu.Unlock()
		} else if errors.Is(e, todo.ErrConflict) || errors.Is(e, todo.ErrNotFound) {
			h.lose(e.Message)
		}
	}
}
