//go:build unix

package worker

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

const (
	maxClaim  = 500                    // todos that one statement claims at most
	ahead     = 100 * time.Millisecond // of work that is claimed beforehand, when commands are short
	awayFirst = time.Second            // first pause while the database is away
	awayLast  = 30 * time.Second       // and the longest
)

// dispatch claims and starts until the end, then sees the last commands out.
func (w *Worker) dispatch(ctx, background context.Context) error {
	// A drain does not wait for what is to come; enqueue would pay for notifying it.
	watch := queue.NewWatch(w.store.q, w.opt.Claim.Queues, w.opt.Listen && !w.opt.Drain, w.opt.Warn)
	defer func() { _ = w.store.do(func(*queue.Client) error { watch.Close(background); return nil }) }()
	f := &feed{w: w, idleSince: time.Now()}
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

// feed is what the dispatcher knows between two looks.
type feed struct {
	w         *Worker
	buffer    []*held // claimed, not started
	claimed   int
	empty     bool // the last claim found nothing
	idleSince time.Time
	notBefore time.Time       // the database is away: not before then
	back      <-chan struct{} // or when this is closed
	pause     time.Duration   // how long it is waited for
	groups    []*group        // streams that live on
}

// away says that it is too early to ask the database again.
func (f *feed) away() bool {
	select {
	case <-f.back:
		return false
	default:
		return time.Now().Before(f.notBefore)
	}
}

// start starts commands for what is claimed, while there is room.
func (f *feed) start() {
	if f.w.opt.lined() {
		f.startLines()
		return
	}
	for len(f.buffer) > 0 && int(f.w.running.Load()) < f.w.opt.Concurrency {
		h := f.buffer[0]
		f.buffer = f.buffer[1:]
		f.w.running.Add(1)
		f.w.inflight.Add(1)
		go func() {
			defer f.w.nudge()
			defer f.w.running.Add(-1)
			defer f.w.inflight.Add(-1)
			f.w.runOne(h)
		}()
	}
	f.busy()
}

func (f *feed) busy() {
	if f.w.inflight.Load() > 0 || len(f.buffer) > 0 {
		f.idleSince = time.Now()
	}
}

// startLines gives what is claimed to commands that take lines, and starts those while there is room.
func (f *feed) startLines() {
	o := f.w.opt
	f.groups = slices.DeleteFunc(f.groups, (*group).ended)
	for len(f.buffer) > 0 {
		if o.Stream && f.offer() {
			continue
		}
		if int(f.w.running.Load()) >= o.Concurrency {
			break
		}
		g, err := f.w.newGroup()
		if err != nil {
			f.w.refuse(cannotRun(err))
			return
		}
		for len(f.buffer) > 0 && g.add(f.buffer[0]) {
			f.buffer = f.buffer[1:]
			if o.Stream {
				break // the others may have room too
			}
		}
		if o.Stream {
			f.groups = append(f.groups, g)
		} else {
			g.finish()
		}
	}
	f.busy()
}

// offer gives the next todo to the stream that has the fewest, if one has room.
func (f *feed) offer() bool {
	if len(f.groups) < f.w.opt.Concurrency && !slices.ContainsFunc(f.groups, (*group).unused) {
		return false // a further command may share the work
	}
	slices.SortStableFunc(f.groups, func(a, b *group) int { return a.size() - b.size() })
	for _, g := range f.groups {
		if g.add(f.buffer[0]) {
			f.buffer = f.buffer[1:]
			return true
		}
	}
	return false
}

// ended says whether the worker's own options end it now.
func (f *feed) ended() bool {
	o := f.w.opt
	if o.Max > 0 && f.claimed >= o.Max && len(f.buffer) == 0 && f.w.idle() {
		return true
	}
	return o.Idle > 0 && len(f.buffer) == 0 && f.w.idle() && time.Since(f.idleSince) >= o.Idle
}

// wanted is how many todos to claim now: what there is room for, and when commands are short some more.
func (f *feed) wanted() int {
	o := f.w.opt
	room := o.Concurrency*max(o.Batch, 1) - int(f.w.inflight.Load())
	if o.Batch > 0 && !o.Stream { // a command takes no more once it has its batch, done with it or not
		room = (o.Concurrency - int(f.w.running.Load())) * o.Batch
	}
	n := max(room, 0) + f.w.spawn.ahead(o.Concurrency) - len(f.buffer)
	if o.Max > 0 {
		n = min(n, o.Max-f.claimed)
	}
	if room <= 0 && len(f.buffer) > f.w.spawn.ahead(o.Concurrency)/2 {
		return 0 // refill in gulps: a statement for each command that ends would cost more than the command
	}
	return min(n, maxClaim)
}

// claim claims up to n. A database that is away is told once and waited for. A signal to end leaves the
// claim the time that it usually takes: what was claimed must not be forgotten.
func (f *feed) claim(ctx context.Context, watch *queue.Watch, n int) (due todo.Time, found bool, err error) {
	p := f.w.opt.Claim
	p.Limit = n
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), answer)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(2*time.Second, cancel) })()
	var got []todo.Todo
	var asked time.Time
	err = f.w.store.do(func(q *queue.Client) error {
		asked = time.Now()
		got, err = q.Claim(limited, p)
		return err
	})
	f.empty = false
	var e *todo.Error
	switch {
	case err == nil:
		f.claimed += len(got)
		f.buffer = append(f.buffer, f.w.hold(got, asked)...)
		found = true
	case errors.Is(err, todo.ErrEmpty):
		f.empty = true
		if errors.As(err, &e) {
			due, _ = e.Details["next_at"].(todo.Time)
		}
	case ctx.Err() != nil:
		return due, false, nil
	case temporary(err):
		f.w.outage.began(err)
		watch.Away()
		f.pause = min(max(2*f.pause, awayFirst), awayLast)
		f.notBefore, f.back = time.Now().Add(f.pause), f.w.outage.wait()
		f.idleSince = time.Now() // nobody knows whether there is something to do
		return due, false, nil
	default:
		return due, false, err
	}
	f.pause = 0
	f.w.outage.over()
	return due, found, nil
}

// await waits until it is worth looking again.
func (f *feed) await(ctx context.Context, watch *queue.Watch, due todo.Time) {
	d, rings := time.Hour, (<-chan struct{})(nil)
	switch {
	case f.away():
		d, rings = time.Until(f.notBefore), f.back
	case f.wanted() > 0:
		fresh := false
		_ = f.w.store.do(func(*queue.Client) error { fresh = watch.Ready(ctx); return nil })
		if fresh {
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
