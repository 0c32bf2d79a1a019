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

// feed is what the dispatcher knows between two looks.
type feed struct {
	w         *Worker
	buffer    []*held // claimed, not started
	claimed   int
	empty     bool // the last claim found nothing
	idleSince time.Time
	failed    time.Time     // when a claim last failed
	notBefore time.Time     // the database is away: not before then
	pause     time.Duration // how long it is waited for
	groups    []*group      // streams that live on
	checked   time.Time     // when no lease was over
	size      int           // bytes of a payload lately, the larger ones counting longer
}

// away says that it is too early to ask the database again.
func (f *feed) away() bool {
	d, _ := f.absence()
	return d > 0
}

// absence is how long it is too early, and what ends that time before. What commands came to is told
// first, and leases are renewed first that ran out while the database was away or the worker suspended:
// a claim would take them over, and do again what is done.
func (f *feed) absence() (time.Duration, <-chan struct{}) {
	back := f.w.outage.wait()
	switch {
	case back != nil && f.w.unsaid.Load() > 0:
		return awayLast, back
	case back != nil:
		return max(time.Until(f.notBefore), 0), back
	}
	if f.lapsed(time.Now()) {
		return expiring, nil
	}
	return max(time.Until(f.failed.Add(awayFirst)), 0), nil
}

// start starts commands for what is claimed, while there is room.
func (f *feed) start() {
	f.buffer = slices.DeleteFunc(f.buffer, func(h *held) bool {
		_, lost := h.isLost()
		if lost {
			f.w.report(outcome{held: h, started: time.Now()})
		}
		return lost
	})
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
	return min(n, f.fitting())
}

// fitting is how many todos one statement may claim, so that all payloads that the worker has fit into maxBytes; but
// one for each command. What nobody has seen yet is looked at by few.
func (f *feed) fitting() int {
	if f.size < 0 {
		return firstClaim
	}
	has := int(f.w.inflight.Load()) + len(f.buffer)
	return min(max(max(maxBytes/max(f.size, 1), f.w.opt.Concurrency)-has, 0), maxClaim)
}

// weigh notes how large the payloads of an answer are.
func (f *feed) weigh(got []todo.Todo) {
	sum := 0
	for i := range got {
		sum += len(got[i].Payload)
	}
	f.size = max(sum/len(got), f.size-f.size/8)
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
		f.weigh(got)
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
		f.failed, f.idleSince = time.Now(), time.Now() // nobody knows whether there is something to do
		f.notBefore = f.failed.Add(f.pause)
		return due, false, nil
	default:
		return due, false, err
	}
	f.pause = 0
	f.w.outage.over()
	return due, found, nil
}
