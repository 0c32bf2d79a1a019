package main

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/queue"
)

// left is how many pending todos remain where claims are measured under a held snapshot.
const left = 20_000

// heldSnapshot is goal 8: a transaction that was left open keeps dead index entries where claims start.
func (b *bench) heldSnapshot(ctx context.Context) ([]Figure, error) {
	list, err := b.heldClaims(ctx)
	if err != nil {
		return list, err
	}
	more, err := b.heldDrains(ctx)
	return append(list, more...), err
}

// hold opens a snapshot in a database and returns what ends it.
func hold(ctx context.Context, url string) (end func(), err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return nil, err
	}
	for _, sql := range []string{"BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT 1 FROM todos LIMIT 1"} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return nil, err
		}
	}
	return func() { _ = conn.Close(context.WithoutCancel(ctx)) }, nil
}

// heldClaims completes many todos under a held snapshot, and measures claims beside those of a database
// where nothing of that has happened: of the client that was there all the time, of a new one, and of
// processes that claim one and end.
func (b *bench) heldClaims(ctx context.Context) ([]Figure, error) {
	fresh, drop, err := b.loaded(ctx, pending(left, "'bench'"))
	if err != nil {
		return nil, err
	}
	defer drop()
	old, drop, err := b.loaded(ctx, pending(left+b.opt.held, "'bench'"))
	if err != nil {
		return nil, err
	}
	defer drop()
	end, err := hold(ctx, old)
	if err != nil {
		return nil, err
	}
	defer end()
	worker, err := b.client(ctx, old)
	if err != nil {
		return nil, err
	}
	defer worker.Close()
	for n := 0; n < b.opt.held; n += 100 {
		if err := drainSome(ctx, worker, 100); err != nil {
			return nil, err
		}
	}
	newcomer, err := b.client(ctx, old)
	if err != nil {
		return nil, err
	}
	defer newcomer.Close()
	other, err := b.client(ctx, fresh)
	if err != nil {
		return nil, err
	}
	defer other.Close()
	sides := []struct {
		name, url string
		claim     func() error
	}{
		{"fresh", fresh, func() error { return claimOne(ctx, other, "bench") }},
		{"held, worker", old, func() error { return claimOne(ctx, worker, "bench") }},
		{"held, newcomer", old, func() error { return claimOne(ctx, newcomer, "bench") }},
		{"fresh, one-shot", fresh, func() error { _, err := b.todo(ctx, fresh, "", "claim", "-q", "bench", "-o", "id"); return err }},
		{"held, one-shot", old, func() error { _, err := b.todo(ctx, old, "", "claim", "-q", "bench", "-o", "id"); return err }},
	}
	s := samples{}
	for range b.opt.rounds {
		for _, side := range sides {
			p, err := b.probe(ctx, side.url, "claim", "mark")
			if err != nil {
				return nil, err
			}
			list, err := p.costs(ctx, b.opt.shots, side.claim)
			p.close(ctx)
			if err != nil {
				return nil, err
			}
			s.add(side.name, median(list))
			s.add(side.name+", p95", quantile(list, 0.95))
		}
	}
	with95 := func(f Figure, name string) Figure {
		f.Raw = append(f.Raw, s.raw(name+", p95", "ms"))
		return f
	}
	return []Figure{
		with95(s.ratio("8", "claim under a held snapshot / fresh, a worker's", "ms", "held, worker", "fresh").atMost(1.3), "held, worker"),
		with95(s.ratio("8", "claim under a held snapshot / fresh, a new client's", "ms", "held, newcomer", "fresh").atMost(1.3), "held, newcomer"),
		with95(s.ratio("8", "claim under a held snapshot / fresh, one-shot", "ms", "held, one-shot", "fresh, one-shot").atMost(1.3), "held, one-shot"),
	}, nil
}

// heldDrains drains with and without a held snapshot.
func (b *bench) heldDrains(ctx context.Context) ([]Figure, error) {
	url, drop, err := b.database(ctx, template)
	if err != nil {
		return nil, err
	}
	defer drop()
	n := b.opt.drain
	s := samples{}
	for round := range b.opt.rounds + 1 {
		for _, held := range []bool{false, true} {
			if err := b.filled(ctx, url, n); err != nil {
				return nil, err
			}
			end := func() {}
			if held {
				if end, err = hold(ctx, url); err != nil {
					return nil, err
				}
			}
			took, err := b.drainPackage(ctx, url, drainers, 100)
			end()
			if err = errors.Join(err, b.allDone(ctx, url, n)); err != nil {
				return nil, err
			}
			if round > 0 {
				s.add(map[bool]string{true: "held", false: "not held"}[held], float64(n)/1000/took.Seconds())
			}
		}
	}
	return []Figure{s.ratio("8", "drain under a held snapshot / without", "k/s", "held", "not held").atLeast(0.9)}, nil
}

// drainSome claims and completes one batch.
func drainSome(ctx context.Context, c *queue.Client, n int) error {
	got, err := c.Claim(ctx, queue.ClaimParams{Queues: []string{"bench"}, Owner: "bench", TTL: time.Minute, Limit: n})
	if err != nil {
		return err
	}
	return complete(ctx, c, got)
}
