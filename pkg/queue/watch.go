package queue

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/todo"
)

// Pauses between two looks of one who waits: without a bell, growing; with one, long, since a ring
// may be lost and some things become due without any.
const (
	firstPause  = 50 * time.Millisecond
	longPause   = time.Second
	bellPause   = 5 * time.Second
	relistening = 30 * time.Second
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
	told   bool
	pause  time.Duration
}

// NewWatch makes a watch for queues, or for todos by id. Without listen it only looks now and then.
// warn is told once when notifications do not arrive.
func NewWatch(c *Client, names []string, listen bool, warn func(string)) *Watch {
	return &Watch{c: c, names: names, listen: listen, warn: warn, pause: firstPause}
}

// Ready makes the bell where there is none, and returns true when it is new: what happened before
// it rang was not heard, so the caller looks once more before it waits.
func (w *Watch) Ready(ctx context.Context) bool {
	if w.bell != nil && w.bell.Lost() {
		w.bell.Close(ctx, w.c)
		w.bell = nil
	}
	if w.bell != nil {
		return w.bell.Renew(ctx, w.c) != nil // a failed renewal is looked into by the next look
	}
	if !w.listen || !w.tried.IsZero() && time.Since(w.tried) < relistening {
		return false
	}
	w.tried = time.Now()
	bell, err := w.c.Listen(ctx, w.names)
	if err != nil {
		if !w.told && ctx.Err() == nil {
			w.warn("looking again now and then instead of being notified: " + err.Error())
			w.told = true
		}
		return false
	}
	w.bell = bell
	return true
}

// Found resets the pauses: something was found.
func (w *Watch) Found() { w.pause = firstPause }

// Pause returns how long to wait at most before the next look, and what rings before that. due is
// when something will be claimable, where that is known.
func (w *Watch) Pause(due todo.Time) (time.Duration, <-chan struct{}) {
	if w.bell == nil {
		d := w.pause + time.Duration(rand.Int64N(int64(w.pause)/4+1)) // waiters that started together part
		w.pause = min(w.pause*3/2, longPause)
		return d, nil
	}
	d := bellPause
	if at, ok := due.Time(); ok {
		d = min(d, max(time.Until(at), firstPause)) // a guess by this machine's clock: it only decides when to look
	}
	return d, w.bell.Rings()
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
		return dbconn.ReadError(ctx, ctx.Err())
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
