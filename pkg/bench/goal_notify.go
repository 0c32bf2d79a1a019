package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/db"
	"github.com/todoctl/todoctl/pkg/queue"
)

// producers enqueue at once where the cost of notifications is measured.
const producers = 16

// notifies measures what being able to notify costs those who enqueue: the server's time for the statement beside
// that of one which never does, while nobody waits, and the rate while somebody does.
func (b *bench) notifies(ctx context.Context) ([]Figure, error) {
	url, drop, err := b.database(ctx, template)
	if err != nil {
		return nil, err
	}
	defer drop()
	s := samples{}
	for round := range b.opt.rounds + 1 {
		found := samples{}
		if err := b.asking(ctx, url, found); err != nil {
			return nil, err
		}
		for _, waits := range []bool{false, true} {
			if err := b.emptied(ctx, url); err != nil {
				return nil, err
			}
			end, name := func() {}, "nobody waits"
			if waits {
				name = "somebody waits"
				if end, err = b.listener(ctx, url); err != nil {
					return nil, err
				}
			}
			rate, err := b.produce(ctx, url)
			end()
			if err != nil {
				return nil, err
			}
			found.add(name, rate)
		}
		for name, list := range found {
			if round > 0 { // the first warms up
				s[name] = append(s[name], list...)
			}
		}
	}
	return []Figure{
		s.ratio("notify", "enqueue, nobody waits / one that never notifies, server time", "us", "enqueue", "never").atMost(1.05),
		s.ratio("notify", "enqueue by 16, somebody waits / nobody", "/s", "somebody waits", "nobody waits").atLeast(0.95),
	}, nil
}

// asking runs the statement that enqueues in turn with the same one that asks for no waiter.
func (b *bench) asking(ctx context.Context, url string, s samples) error {
	text, err := db.Queries.ReadFile("queries/enqueue.sql")
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), "CASE WHEN EXISTS (SELECT 1 FROM waiters")
	_, after, ended := strings.Cut(rest, "END END AS told")
	if !ok || !ended {
		return errors.New("enqueue.sql does not ask for waiters as it used to")
	}
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "SET plan_cache_mode = force_generic_plan"); err != nil {
		return err
	}
	sides := map[string]string{"enqueue": string(text), "never": "-- Never notifies.\n" + before + "NULL AS told" + after}
	const chunks, chunk = 20, 50
	for range chunks {
		for name, sql := range sides {
			p := &probe{conn: conn, marks: []string{firstLine(sql)}}
			cost, err := p.cost(ctx, func() error {
				for range chunk {
					id, err := queue.NewID("td_")
					if err != nil {
						return err
					}
					if _, err := conn.Exec(ctx, sql, pgx.StrictNamedArgs{"id": id, "queue": "asking", "source": "", "kind": "mail", "title": "", "payload": payload,
						"event_source": nil, "external_id": nil, "event_id": nil, "key": id, "assignee": nil, "max_attempts": 5, "at": nil, "delay": nil}); err != nil {
						return fmt.Errorf("%s: %w", name, err)
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
			s.add(name, cost*1000/chunk)
		}
	}
	return nil
}

// listener waits for the queue and does nothing with what it hears.
func (b *bench) listener(ctx context.Context, url string) (end func(), err error) {
	c, err := b.client(ctx, url)
	if err != nil {
		return nil, err
	}
	bell, err := c.Listen(ctx, []string{"bench"})
	if err != nil {
		c.Close()
		return nil, err
	}
	return func() { bell.Close(context.WithoutCancel(ctx), c); c.Close() }, nil
}

// produce enqueues one at a time from many goroutines for a while and returns how many a second.
func (b *bench) produce(ctx context.Context, url string) (float64, error) {
	var made atomic.Int64
	var all sync.WaitGroup
	faults := make([]error, producers)
	clients := make([]*queue.Client, producers)
	for i := range clients {
		c, err := b.client(ctx, url)
		if err != nil {
			return 0, err
		}
		defer c.Close()
		clients[i] = c
	}
	began := time.Now()
	for i, c := range clients {
		all.Go(func() {
			for n := 0; time.Since(began) < b.opt.spell && faults[i] == nil; n++ {
				key := strconv.Itoa(i) + "-" + strconv.Itoa(n)
				_, faults[i] = c.Enqueue(ctx, queue.NewTodo{Queue: "bench", Payload: payload, Key: &key, MaxAttempts: 5})
				made.Add(1)
			}
		})
	}
	all.Wait()
	return float64(made.Load()) / time.Since(began).Seconds(), errors.Join(faults...)
}
