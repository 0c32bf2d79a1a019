package main

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// singles is how many goroutines claim and complete one at a time.
const singles = 500

// coalesced is goal 5: many goroutines that claim and complete one todo at a time, beside the same package
// in batches. Server time is compared, and the rate is told beside it.
func (b *bench) coalesced(ctx context.Context) ([]Figure, error) {
	url, drop, err := b.database(ctx, template)
	if err != nil {
		return nil, err
	}
	defer drop()
	p, err := b.probe(ctx, url, "claim", "complete", "notify", "limits", "mark")
	if err != nil {
		return nil, err
	}
	defer p.close(ctx)
	n := b.opt.drain
	s := samples{}
	for round := range b.opt.rounds + 1 {
		for _, side := range []struct {
			name string
			run  func() (time.Duration, error)
		}{
			{"batches", func() (time.Duration, error) { return b.drainPackage(ctx, url, 2, drainSize) }},
			{"coalesced", func() (time.Duration, error) { return b.drainSingly(ctx, url, n) }},
		} {
			if err := b.filled(ctx, url, n); err != nil {
				return nil, err
			}
			var took time.Duration
			cost, err := p.cost(ctx, func() error { took, err = side.run(); return err })
			if err != nil {
				return nil, err
			}
			if round > 0 { // the first warms up
				s.add(side.name, float64(n)/cost) // todos for a millisecond of server time
				s.add(side.name+", wall", float64(n)/1000/took.Seconds())
			}
		}
	}
	return []Figure{
		s.ratio("5", strconv.Itoa(singles)+" goroutines, coalesced / batches, todos by server time", "/ms", "coalesced", "batches").atLeast(0.5),
		s.ratio("5", strconv.Itoa(singles)+" goroutines, coalesced / batches, rate", "k/s", "coalesced, wall", "batches, wall").atLeast(0.5),
	}, nil
}

// drainSingly works off n todos with many goroutines that have one each.
func (b *bench) drainSingly(ctx context.Context, url string, n int) (time.Duration, error) {
	cfg, err := dbconn.ParseConfig(dbconn.Options{URL: url, AppName: "bench"})
	if err != nil {
		return 0, err
	}
	opt := queue.Options{Connect: func(ctx context.Context) (*pgx.Conn, error) { return dbconn.ConnectConfig(ctx, cfg) }}
	c, err := queue.NewCoalescer(ctx, opt, 2)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	faults := make([]error, singles)
	var all sync.WaitGroup
	began := time.Now()
	for i := range faults {
		all.Go(func() { faults[i] = drainAlone(ctx, c) })
	}
	all.Wait()
	took := time.Since(began)
	if err := errors.Join(faults...); err != nil {
		return 0, err
	}
	return took, b.allDone(ctx, url, n)
}

func drainAlone(ctx context.Context, c *queue.Coalescer) error {
	for {
		t, err := c.Claim(ctx, queue.ClaimParams{Queues: []string{"bench"}, Owner: "bench", TTL: time.Minute})
		if errors.Is(err, todo.ErrEmpty) {
			return nil
		}
		if err != nil {
			return err
		}
		r, err := c.Complete(ctx, queue.Completion{Receipt: todo.Receipt{ID: t.ID, Seq: t.LeaseSeq}})
		if err != nil {
			return err
		}
		if r.Error != nil {
			return r.Error
		}
	}
}
