//go:build unix

package worker

import (
	"context"
	"sync"
	"time"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// saying is how often what commands say of their todos is written at most.
const saying = 500 * time.Millisecond

// notes collects what commands say of todos that they are at, until it is written.
type notes struct {
	mu       sync.Mutex
	percents map[todo.Receipt]int
	extended []*held
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
	n.extended = append(n.extended, h)
}

func (n *notes) take() (map[todo.Receipt]int, []*held) {
	n.mu.Lock()
	defer n.mu.Unlock()
	percents, extended := n.percents, n.extended
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
			w.renew(ctx, extended, w.opt.Claim.TTL)
		}
		if len(percents) == 0 {
			continue
		}
		_ = w.store.do(func(q *queue.Client) error { // progress that is not told is told the next time
			ctx, cancel := context.WithTimeout(ctx, answer)
			defer cancel()
			return q.SetProgress(ctx, percents)
		})
	}
}
