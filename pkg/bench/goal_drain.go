package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// drainers are the connections of the package where it drains small batches.
const drainers = 4

// drainSize is how many todos a statement claims or completes. The package drains with a connection for each processor:
// server and client are busy all the time then, and more of them only get into each other's way.
const drainSize = 500

// drains is goal 4: todos that do nothing, worked off through work --stream and through the package,
// beside River, graphile-worker and pg-boss with their best settings.
func (b *bench) drains(ctx context.Context) ([]Figure, error) {
	sides, done, err := b.drainSides(ctx)
	defer done()
	if err != nil {
		return nil, err
	}
	s := samples{}
	for round := range b.opt.rounds + 1 {
		for _, side := range sides {
			took, used, err := b.drainOnce(ctx, side)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", side.name, err)
			}
			if round > 0 { // the first warms up
				s.add(side.name, float64(b.opt.drain)/1000/took.Seconds())
				s.add(side.name+", processor", used.Seconds()*1e6/float64(b.opt.drain))
			}
		}
	}
	var list []Figure
	for _, peer := range []struct {
		name string
		goal float64
	}{{"River", 2.2}, {"graphile-worker", 0.9}, {"pg-boss", 1.5}} {
		if len(s[peer.name]) == 0 {
			continue
		}
		for _, ours := range []string{"work --stream", "package"} {
			list = append(list, s.ratio("4", "drain, "+ours+" / "+peer.name, "k/s", ours, peer.name).atLeast(peer.goal),
				s.ratio("4", "drain, "+peer.name+"'s processor time for a job / "+ours+"'s", "us", peer.name+", processor", ours+", processor").atLeast(peer.goal))
		}
	}
	return list, nil
}

// drainOnce fills a queue, works it off, and returns how long that took and what it cost all processes.
func (b *bench) drainOnce(ctx context.Context, s side) (took, used time.Duration, err error) {
	if err := s.fill(ctx); err != nil {
		return 0, 0, err
	}
	before, err := b.processorTime()
	if err != nil {
		return 0, 0, err
	}
	if took, err = s.drain(ctx); err != nil {
		return 0, 0, err
	}
	after, err := b.processorTime()
	if err != nil {
		return 0, 0, err
	}
	return took, after - before, s.check(ctx)
}

// side is one of those that drain.
type side struct {
	name  string
	fill  func(context.Context) error
	drain func(context.Context) (time.Duration, error)
	check func(context.Context) error
}

func (b *bench) drainSides(ctx context.Context) (list []side, done func(), err error) {
	var ends []func()
	done = func() {
		for _, f := range ends {
			f()
		}
	}
	url, drop, err := b.database(ctx, template)
	if err != nil {
		return nil, done, err
	}
	ends = append(ends, drop)
	river, err := b.river(ctx)
	if err != nil {
		return nil, done, err
	}
	ends = append(ends, river.close)
	n := b.opt.drain
	fill := func(ctx context.Context) error { return b.filled(ctx, url, n) }
	check := func(ctx context.Context) error { return b.allDone(ctx, url, n) }
	none := func(context.Context) error { return nil }
	list = []side{
		{"work --stream", fill, func(ctx context.Context) (time.Duration, error) { return b.drainStream(ctx, url) }, check},
		{"River", func(ctx context.Context) error { return river.fill(ctx, n) }, func(ctx context.Context) (time.Duration, error) { return river.drain(ctx, n) }, none},
		{"package", fill, func(ctx context.Context) (time.Duration, error) {
			return b.drainPackage(ctx, url, runtime.NumCPU(), drainSize)
		}, check},
	}
	if !b.opt.npm {
		return list, done, nil
	}
	for _, peer := range []string{"graphile-worker", "pg-boss"} {
		p, err := b.node(ctx, peer)
		if err != nil {
			return nil, done, err
		}
		ends = append(ends, p.drop)
		list = append(list, side{peer, func(ctx context.Context) error { return p.fill(ctx, n) }, func(ctx context.Context) (time.Duration, error) { return p.drain(ctx, n) }, none})
	}
	return list, done, nil
}

// filled makes n todos in an empty table.
func (b *bench) filled(ctx context.Context, url string, n int) error {
	if err := b.emptied(ctx, url); err != nil {
		return err
	}
	lines, err := b.lines(n, 1)
	if err != nil {
		return err
	}
	_, err = b.todo(ctx, url, lines, "enqueue", "-q", "bench", "--from", "-", "--quiet")
	return err
}

// drainStream works off what is there with one worker whose commands live on.
func (b *bench) drainStream(ctx context.Context, url string) (time.Duration, error) {
	f, err := b.todo(ctx, url, "", "work", "-q", "bench", "--stream", "--batch", strconv.Itoa(drainSize), "-c", strconv.Itoa(b.opt.streams), "--drain", "--quiet", "--", b.self, "answer")
	return f.took, err
}

// drainPackage works off what is there with some connections that each claim and complete a batch at a time.
func (b *bench) drainPackage(ctx context.Context, url string, connections, batch int) (time.Duration, error) {
	var clients []*queue.Client
	for range connections {
		c, err := b.client(ctx, url)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		clients = append(clients, c)
	}
	faults := make([]error, connections)
	var all sync.WaitGroup
	began := time.Now()
	for i, c := range clients {
		all.Go(func() { faults[i] = drainOne(ctx, c, batch) })
	}
	all.Wait()
	took := time.Since(began)
	return took, errors.Join(faults...)
}

func drainOne(ctx context.Context, c *queue.Client, batch int) error {
	for {
		got, err := c.Claim(ctx, queue.ClaimParams{Queues: []string{"bench"}, Owner: "bench", TTL: time.Minute, Limit: batch})
		if errors.Is(err, todo.ErrEmpty) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := complete(ctx, c, got); err != nil {
			return err
		}
	}
}

func complete(ctx context.Context, c *queue.Client, got []todo.Todo) error {
	list := make([]queue.Completion, len(got))
	for i, t := range got {
		list[i].Receipt = todo.Receipt{ID: t.ID, Seq: t.LeaseSeq}
	}
	_, err := c.CompleteEach(ctx, list)
	return err
}

// allDone makes sure that nothing was measured that did not happen.
func (b *bench) allDone(ctx context.Context, url string, n int) error {
	f, err := b.psqlRun(ctx, url, "SELECT count(*) FROM todos WHERE state = 'done' AND lease_seq = 1")
	if err == nil && f.out != strconv.Itoa(n) {
		err = fmt.Errorf("%s todos are done after one lease, not %d", f.out, n)
	}
	return err
}
