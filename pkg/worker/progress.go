//go:build unix

package worker

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// saying is how often what commands say of their todos is written at most.
const saying = 500 * time.Millisecond

// notes collects what commands say of todos that they are at, until it is written. However much they
// say, it keeps one thing for each todo.
type notes struct {
	mu       sync.Mutex
	percents map[todo.Receipt]int
	extended map[*held]bool
}

func (n *notes) set(h *held, percent int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.percents == nil {
		n.percents = map[todo.Receipt]int{}
	}
	n.percents[h.receipt] = percent
}

func (n *notes) extend(h *held) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.extended == nil {
		n.extended = map[*held]bool{}
	}
	n.extended[h] = true
}

func (n *notes) take() (percents map[todo.Receipt]int, extended []*held) {
	n.mu.Lock()
	defer n.mu.Unlock()
	percents, extended = n.percents, slices.Collect(maps.Keys(n.extended))
	n.percents, n.extended = nil, nil
	return percents, extended
}

// note writes progress, and extensions that should not wait for the next renewal.
func (w *Worker) note(ctx context.Context) {
	tick := time.NewTicker(saying)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		percents, extended := w.progress.take()
		if len(extended) > 0 {
			w.renew(ctx, extended)
		}
		if len(percents) == 0 {
			continue
		}
		_ = w.renews.do(func(q *queue.Client) error { // what is not told now is told the next time
			ctx, cancel := context.WithTimeout(ctx, max(w.opt.Claim.TTL/3, time.Second))
			defer cancel()
			return q.SetProgress(ctx, percents)
		})
	}
}
