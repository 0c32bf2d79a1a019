//go:build unix

package worker

import (
	"sync"
	"time"
)

// outbox holds outcomes until they are written. It takes as many as there are leases, so that nobody
// waits for a database that is away.
type outbox struct {
	mu     sync.Mutex
	list   []outcome
	closed bool
	filled chan struct{}
}

func (b *outbox) put(o outcome) {
	b.mu.Lock()
	b.list = append(b.list, o)
	b.mu.Unlock()
	ring(b.filled)
}

// close says that nothing more comes.
func (b *outbox) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	ring(b.filled)
}

// take waits for outcomes and returns up to limit of them; none once the box is closed and empty.
func (b *outbox) take(limit int) []outcome {
	for {
		b.mu.Lock()
		n := min(limit, len(b.list))
		some := b.list[:n:n]
		if b.list = b.list[n:]; len(b.list) == 0 {
			b.list = nil
		}
		end := b.closed
		b.mu.Unlock()
		if n > 0 || end {
			return some
		}
		<-b.filled
	}
}

// gather waits until there are limit outcomes or nothing more comes, but not for longer than d.
func (b *outbox) gather(d time.Duration, limit int) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for !b.full(limit) {
		select {
		case <-b.filled:
		case <-timer.C:
			return
		}
	}
}

func (b *outbox) full(limit int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed || len(b.list) >= limit
}
