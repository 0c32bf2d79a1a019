package queue

import (
	"context"
	"time"

	"github.com/todoctl/todoctl/pkg/dbconn"
)

// pace spreads changes over time: so many a second on average, in small transactions. Nil is no bound.
type pace struct {
	rate float64 // todos a second
	due  time.Time
}

// newPace returns a pace of so many todos a second; 0 is no bound.
func newPace(rate float64) *pace {
	if rate == 0 {
		return nil
	}
	return &pace{rate: rate}
}

// size is how many todos one transaction changes at most: a tenth of a second's.
func (p *pace) size(most int) int {
	if p == nil {
		return most
	}
	return min(max(int(p.rate/10), 1), most)
}

// moved notes that n todos have been changed and waits until the next may be.
func (p *pace) moved(ctx context.Context, n int) error {
	if p == nil || n == 0 {
		return nil
	}
	p.add(n)
	return sleep(ctx, time.Until(p.due))
}

// others notes that somebody else has changed n todos, the last of them that long ago, and returns how long the next have to
// wait. Who shares a rate keeps one and the same schedule by it.
func (p *pace) others(n int, since time.Duration) time.Duration {
	switch {
	case p == nil:
		return 0
	case p.due.IsZero(): // at the beginning it is only the last of them that may be too near
		p.due = time.Now().Add(p.span(min(n, p.size(n))) - since)
	default:
		p.add(n)
	}
	return time.Until(p.due)
}

// add puts off what is due by the share of n todos. A database that was too slow for a while is not made up for by a burst.
func (p *pace) add(n int) {
	if now := time.Now(); now.Sub(p.due) > time.Second {
		p.due = now
	}
	p.due = p.due.Add(p.span(n))
}

// span is how long n todos take at the rate.
func (p *pace) span(n int) time.Duration {
	return time.Duration(float64(n) / p.rate * float64(time.Second))
}

// sleep waits, or returns the error of a context that ends before.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return dbconn.WaitError(ctx, "the rest was due")
	case <-t.C:
		return nil
	}
}
