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

// moved notes that n todos have been changed and waits until the next may be. A database that was too slow for a while is not
// made up for by a burst.
func (p *pace) moved(ctx context.Context, n int) error {
	if p == nil || n == 0 {
		return nil
	}
	now := time.Now()
	if now.Sub(p.due) > time.Second {
		p.due = now
	}
	p.due = p.due.Add(time.Duration(float64(n) / p.rate * float64(time.Second)))
	return sleep(ctx, time.Until(p.due))
}

// after is how long n todos have to wait yet when somebody else changed some that long ago.
func (p *pace) after(since time.Duration, n int) time.Duration {
	if p == nil {
		return 0
	}
	return time.Duration(float64(n)/p.rate*float64(time.Second)) - since
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
