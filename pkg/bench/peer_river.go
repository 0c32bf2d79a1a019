package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// riverInsert is how many jobs one insert holds, as in River's own benchmark.
const riverInsert = 5000

// riverArgs are a job's arguments; they make the same JSON as payload.
type riverArgs struct {
	To       string `json:"to"`
	Template string `json:"template"`
	N        int64  `json:"n"`
}

func (riverArgs) Kind() string { return "mail" }

func riverJob(n int64) riverArgs { return riverArgs{"ada@example.test", "welcome", n} }

// riverWorker calls a function for each job.
type riverWorker struct {
	river.WorkerDefaults[riverArgs]
	work func(n int64)
}

func (w *riverWorker) Work(_ context.Context, job *river.Job[riverArgs]) error {
	w.work(job.Args.N)
	return nil
}

// riverPeer is River on a database of its own.
type riverPeer struct {
	pool *pgxpool.Pool
	drop func()
}

func (b *bench) river(ctx context.Context) (*riverPeer, error) {
	url, drop, err := b.database(ctx, "template0")
	if err != nil {
		return nil, err
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = 10
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	p := &riverPeer{pool: pool, drop: drop}
	m, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err == nil {
		_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *riverPeer) close() {
	p.pool.Close()
	p.drop()
}

func (p *riverPeer) reset(ctx context.Context) error {
	for _, sql := range []string{"TRUNCATE river_job", "VACUUM river_job", "CHECKPOINT"} {
		if _, err := p.pool.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// fill makes n jobs in an empty table.
func (p *riverPeer) fill(ctx context.Context, n int) error {
	if err := p.reset(ctx); err != nil {
		return err
	}
	_, err := p.insert(ctx, n, true)
	return err
}

// client is one with the settings of River's own benchmark but for the cooldown, which latency wants shorter.
func (p *riverPeer) client(cooldown time.Duration, work func(int64)) (*river.Client[pgx.Tx], error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, &riverWorker{work: work})
	return river.NewClient(riverpgxv5.New(p.pool), &river.Config{
		FetchCooldown: cooldown, FetchPollInterval: 20 * time.Millisecond, Workers: workers,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2000}},
		Logger: slog.New(slog.DiscardHandler),
	})
}

// insert makes n jobs and returns how long that took.
func (p *riverPeer) insert(ctx context.Context, n int, fast bool) (time.Duration, error) {
	c, err := river.NewClient(riverpgxv5.New(p.pool), &river.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	for done := 0; done < n; {
		list := make([]river.InsertManyParams, min(riverInsert, n-done))
		for i := range list {
			list[i] = river.InsertManyParams{Args: riverJob(int64(done + i))}
		}
		if fast {
			_, err = c.InsertManyFast(ctx, list)
		} else {
			_, err = c.InsertMany(ctx, list)
		}
		if err != nil {
			return 0, err
		}
		done += len(list)
	}
	return time.Since(began), nil
}

// drain works off n jobs that are there and returns how long that took. A job counts when its
// completion is written.
func (p *riverPeer) drain(ctx context.Context, n int) (time.Duration, error) {
	c, err := p.client(2*time.Millisecond, func(int64) {})
	if err != nil {
		return 0, err
	}
	events, stop := c.SubscribeConfig(&river.SubscribeConfig{ChanSize: n + 1000, Kinds: []river.EventKind{river.EventKindJobCompleted}})
	defer stop()
	began := time.Now()
	if err := c.Start(ctx); err != nil {
		return 0, err
	}
	limit := time.After(5 * time.Minute)
	for range n {
		select {
		case <-events:
		case <-limit:
			return 0, fmt.Errorf("river did not complete %d jobs in time", n)
		}
	}
	took := time.Since(began)
	return took, c.Stop(ctx)
}

// latency inserts n jobs one after the other and returns the times from there to the start of work, in ms.
func (p *riverPeer) latency(ctx context.Context, n int, cooldown time.Duration) ([]float64, error) {
	started := make(chan time.Time, 1)
	var warm atomic.Bool
	c, err := p.client(cooldown, func(int64) {
		if warm.Load() {
			started <- time.Now()
		}
	})
	if err != nil {
		return nil, err
	}
	if err := c.Start(ctx); err != nil {
		return nil, err
	}
	if _, err := c.Insert(ctx, riverJob(0), nil); err != nil {
		return nil, err
	}
	time.Sleep(2 * time.Second) // it listens by then, and has elected its leader
	warm.Store(true)
	var list []float64
	for i := range n {
		began := time.Now()
		if _, err := c.Insert(ctx, riverJob(int64(i)), nil); err != nil {
			return nil, err
		}
		list = append(list, ms((<-started).Sub(began)))
		time.Sleep(spacing(i))
	}
	return list, c.Stop(ctx)
}

// spacing is how long to wait between two enqueues whose latency is measured, so that they meet a
// poller or a cooldown at every point of its time.
func spacing(i int) time.Duration { return time.Duration(5+i*7%13) * time.Millisecond }
