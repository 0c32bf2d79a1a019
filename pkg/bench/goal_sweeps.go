package main

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/queue"
)

// sweeps is goal 10: reap and prune of many rows leave claims alone, and hold no long transaction.
func (b *bench) sweeps(ctx context.Context) ([]Figure, error) {
	reap, err := b.sweep(ctx, "reap", []rows{lapsed(b.opt.lapsed, "'bench'"), pending(50_000, "'beside'")}, "reap")
	if err != nil {
		return nil, err
	}
	prune, err := b.sweep(ctx, "prune", []rows{done(b.opt.lapsed, "'bench'"), pending(50_000, "'beside'")},
		"prune", "--older-than", "30d", "--state", "done", "--all", "--yes")
	return append(reap, prune...), err
}

// sweep claims in a quiet database, then beside a command that works through all of it.
func (b *bench) sweep(ctx context.Context, name string, content []rows, args ...string) ([]Figure, error) {
	s := samples{}
	var long, peak, took []float64
	for range max(b.opt.rounds/2, 1) {
		url, drop, err := b.loaded(ctx, content...)
		if err != nil {
			return nil, err
		}
		err = func() error {
			defer drop()
			p, err := b.probe(ctx, url, "claim")
			if err != nil {
				return err
			}
			defer p.close(ctx)
			c, err := b.client(ctx, url)
			if err != nil {
				return err
			}
			defer c.Close()
			if _, err := p.costs(ctx, b.opt.shots, func() error { return claimOne(ctx, c, "beside") }); err != nil { // warms up
				return err
			}
			idle, err := p.costs(ctx, 5*b.opt.shots, func() error { return claimOne(ctx, c, "beside") })
			if err != nil {
				return err
			}
			f, busy, age, err := b.meanwhile(ctx, url, p, c, args)
			if err != nil {
				return err
			}
			s.add("idle", median(idle))
			s.add("meanwhile", median(busy))
			s.add("meanwhile p95", quantile(busy, 0.95))
			long, peak, took = append(long, age), append(peak, f.peak), append(took, f.took.Seconds())
			return nil
		}()
		if err != nil {
			return nil, err
		}
	}
	claim := s.ratio("10", "claim beside "+name+" / idle, server time", "ms", "meanwhile", "idle").atMost(1.5)
	claim.Raw = append(claim.Raw, s.raw("meanwhile p95", "ms"))
	return []Figure{claim,
		figure("10", name+", its longest transaction", "s", long, Raw{Name: "in all", Unit: "s", Median: median(took), Rounds: took},
			Raw{Name: "resident", Unit: "MiB", Median: median(peak), Rounds: peak}).atMost(1)}, nil
}

// meanwhile runs a command to its end, and claims as long.
func (b *bench) meanwhile(ctx context.Context, url string, p *probe, c *queue.Client, args []string) (f finished, busy []float64, age float64, err error) {
	ended := make(chan struct{})
	var watch sync.WaitGroup
	var watched error
	watch.Go(func() { age, watched = longest(ctx, url, ended) })
	var fault error
	go func() {
		defer close(ended)
		f, fault = b.todo(ctx, url, "", append(args, "--quiet")...)
	}()
	for running := true; running; {
		v, err := p.cost(ctx, func() error { return claimOne(ctx, c, "beside") })
		if err != nil {
			return f, nil, 0, err
		}
		select {
		case <-ended:
			running = false
		case <-time.After(5 * time.Millisecond):
			busy = append(busy, v)
		}
	}
	watch.Wait()
	if fault == nil {
		fault = watched
	}
	return f, busy, age, fault
}

// longest returns the age in seconds of the oldest transaction of a command that was seen until the end.
func longest(ctx context.Context, url string, end <-chan struct{}) (oldest float64, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	for {
		var age float64
		if err := conn.QueryRow(ctx, `SELECT coalesce(extract(epoch FROM max(clock_timestamp() - xact_start)), 0)::float8 FROM pg_stat_activity
			WHERE datname = current_database() AND application_name LIKE 'todoctl%'`).Scan(&age); err != nil {
			return oldest, err
		}
		oldest = max(oldest, age)
		select {
		case <-end:
			return oldest, nil
		case <-time.After(10 * time.Millisecond):
		}
	}
}
