//go:build unix

package worker

import (
	"context"
	"time"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

const (
	maxClaim   = 500                    // todos that one statement claims at most
	maxBytes   = 64 << 20               // of payloads that a worker holds, as far as the last ones tell
	firstClaim = 50                     // todos that the first one claims, before that is known
	ahead      = 100 * time.Millisecond // of work that is claimed beforehand, when commands are short
	awayFirst  = time.Second            // first pause while the database is away
	awayLast   = 30 * time.Second       // and the longest
)

// dispatch claims and starts until the end, then sees the last commands out.
func (w *Worker) dispatch(ctx, background context.Context) error {
	// A drain does not wait for what is to come; enqueue would pay for notifying it.
	watch := queue.NewWatch(w.store.q, w.opt.Claim.Queues, w.opt.Listen && !w.opt.Drain, w.opt.Warn)
	defer func() { _ = w.store.do(func(*queue.Client) error { watch.Close(background); return nil }) }()
	f := &feed{w: w, idleSince: time.Now(), size: -1}
	var err error
	for ctx.Err() == nil && w.broken.Load() == nil {
		f.start()
		if f.ended() {
			break
		}
		var due todo.Time
		found := false
		if n := f.wanted(); n > 0 && !f.away() {
			idle := w.idle() && len(f.buffer) == 0 // before it is asked: what ends meanwhile may come back
			if due, found, err = f.claim(ctx, watch, n); err != nil {
				break
			}
			if found {
				watch.Found()
				continue
			}
			if w.opt.Drain && f.empty && idle {
				break
			}
		}
		f.await(ctx, watch, due)
	}
	w.giveBack(f.buffer)
	for _, g := range f.groups {
		g.finish()
	}
	w.seeOut(ctx, len(f.groups) > 0)
	return err
}

// idle says that no command has a todo and nothing is left to write.
func (w *Worker) idle() bool { return w.inflight.Load() == 0 && w.unsaid.Load() == 0 }

// await waits until it is worth looking again.
func (f *feed) await(ctx context.Context, watch *queue.Watch, due todo.Time) {
	d, rings := time.Hour, (<-chan struct{})(nil)
	switch {
	case f.away():
		d, rings = f.absence()
	case f.wanted() > 0:
		fresh := false
		_ = f.w.store.do(func(*queue.Client) error { fresh = watch.Ready(ctx); return nil })
		if fresh { // what the bell has shown of the server holds for the other connections too
			for _, s := range []*store{f.w.ends, f.w.renews} {
				_ = s.do(func(q *queue.Client) error { q.Prepare(); return nil })
			}
			return
		}
		d, rings = watch.Pause(due)
	}
	if o := f.w.opt; o.Idle > 0 && f.w.idle() {
		d = min(d, max(o.Idle-time.Since(f.idleSince), time.Millisecond))
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-rings:
	case <-timer.C:
	case <-f.w.wake:
	}
}

// giveBack releases todos that no command was started for.
func (w *Worker) giveBack(list []*held) {
	for _, h := range list {
		w.report(outcome{held: h, action: Release, text: "the worker ended before it came to this", started: time.Now(), undelayed: true})
	}
}

// seeOut waits for the commands that run: for the grace time once the worker was told to end or cannot
// go on, then it stops them. Otherwise they have all the time that they want; a stream, whose input has
// ended and which has nothing left to do, has the grace time alone.
func (w *Worker) seeOut(ctx context.Context, streams bool) {
	told := ctx.Done()
	if streams || w.broken.Load() != nil {
		told = closedChannel()
	}
	var stop <-chan time.Time
	for w.running.Load() > 0 {
		select {
		case <-told:
			told = nil
			timer := time.NewTimer(w.opt.Grace)
			defer timer.Stop()
			stop = timer.C
		case <-stop:
			stop = nil
			close(w.halt)
		case <-w.wake:
		}
	}
}

func closedChannel() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
