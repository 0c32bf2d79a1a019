package queue

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Pauses between two looks of one who waits: without a bell, growing; with one, long, since a ring
// may be lost and some things become due without any.
const (
	soon        = 20 * time.Millisecond // after a ring: of several that come at once one rings
	longer      = 25                    // times as long as nothing was heard, until the look after that
	firstPause  = 50 * time.Millisecond
	longPause   = time.Second
	bellPause   = 5 * time.Second
	relistening = 30 * time.Second // where there is no bell, until the next try, longer each time
	rarely      = 10 * time.Minute // but no longer
)

// Watch waits for something to change in the database: by notification where the server allows it,
// by looking again with growing pauses where not. It holds no transaction.
type Watch struct {
	c      *Client
	names  []string // queues, or ids of todos
	listen bool
	warn   func(string)
	bell   *Bell
	tried  time.Time
	again  time.Duration // from then to the next try
	fault  error         // why there is no bell, until it is told
	told   bool
	pause  time.Duration
	sign   time.Time     // when something was found last
	beside time.Duration // how often to look while there is a bell
}

// NewWatch makes a watch for queues, or for todos by id. Without listen it only looks now and then.
// warn is told once when notifications do not arrive.
func NewWatch(c *Client, names []string, listen bool, warn func(string)) *Watch {
	return &Watch{c: c, names: names, listen: listen, warn: warn, pause: firstPause, beside: bellPause}
}

// Ready makes the bell where there is none, and returns true when it is new: what happened before
// it rang was not heard, so the caller looks once more before it waits. That there is none is told after
// that look: where the whole database is away the look says so, and this would say it twice.
func (w *Watch) Ready(ctx context.Context) bool {
	if w.fault != nil && !w.told {
		w.warn("looking again now and then instead of being notified: " + w.fault.Error())
		w.told = true
	}
	if w.bell != nil && w.bell.Lost() {
		w.close(ctx, nil)
	}
	if w.bell != nil {
		fresh, err := w.bell.Renew(ctx, w.c)
		if err == nil {
			return fresh
		}
		w.close(ctx, err)
	}
	if !w.listen || !w.tried.IsZero() && time.Since(w.tried) < w.again {
		return false
	}
	w.tried, w.again = time.Now(), min(max(2*w.again, relistening), rarely)
	w.bell, w.fault = w.c.Listen(ctx, w.names)
	if ctx.Err() != nil {
		w.fault = nil
	}
	if w.bell == nil {
		return false
	}
	w.again = relistening
	return true
}

func (w *Watch) close(ctx context.Context, why error) {
	w.bell.Close(ctx, w.c)
	w.bell, w.fault = nil, why
}

// Away says that the database is away: when it is back, a bell is made at once.
func (w *Watch) Away() { w.tried, w.again, w.fault = time.Time{}, 0, nil }

// Found resets the pauses: something was found.
func (w *Watch) Found() { w.pause, w.sign = firstPause, time.Now() }

// Pause returns how long to wait at most before the next look, and what rings before that. due is
// when something will be claimable, where that is known.
func (w *Watch) Pause(due todo.Time) (time.Duration, <-chan struct{}) {
	if w.bell == nil {
		d := w.pause + time.Duration(rand.Int64N(int64(w.pause)/4+1)) // waiters that started together part
		w.pause = min(w.pause*3/2, longPause)
		return d, nil
	}
	d := min(w.beside, max(soon, longer*time.Since(w.lastSign())))
	if at, ok := due.Time(); ok {
		d = min(d, max(time.Until(at), firstPause)) // a guess by this machine's clock: it only decides when to look
	}
	return d, w.bell.Rings()
}

// lastSign is when the bell rang last, or something was found.
func (w *Watch) lastSign() time.Time {
	if rang := w.bell.rang(); rang.After(w.sign) {
		return rang
	}
	return w.sign
}

// Next waits until it is worth looking again, at most for left.
func (w *Watch) Next(ctx context.Context, left time.Duration, due todo.Time) error {
	if w.Ready(ctx) {
		return nil
	}
	d, rings := w.Pause(due)
	timer := time.NewTimer(min(d, left))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-rings:
	case <-timer.C:
	}
	return nil
}

// Close ends the waiting.
func (w *Watch) Close(ctx context.Context) {
	if w.bell != nil {
		w.bell.Close(ctx, w.c)
	}
}
