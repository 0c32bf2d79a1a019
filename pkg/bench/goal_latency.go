package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// latency is goal 6: from the call that enqueues to the start of work. River and graphile-worker start
// work with a call in the same process, as the package does; work --stream hands a line to a command.
func (b *bench) latency(ctx context.Context) ([]Figure, error) {
	url, drop, err := b.database(ctx, template)
	if err != nil {
		return nil, err
	}
	defer drop()
	river, err := b.river(ctx)
	if err != nil {
		return nil, err
	}
	defer river.close()
	n := 5 * b.opt.shots
	type side struct {
		name string
		run  func() ([]float64, error)
	}
	sides := []side{
		{"package", func() ([]float64, error) { return b.packageLatency(ctx, url, n) }},
		{"work --stream", func() ([]float64, error) { return b.streamLatency(ctx, url, n) }},
		{"River, cooldown 1 ms", func() ([]float64, error) { return river.latency(ctx, n, time.Millisecond) }},
	}
	if b.opt.npm {
		node, err := b.node(ctx, "graphile-worker")
		if err != nil {
			return nil, err
		}
		defer node.drop()
		sides = append(sides, side{"graphile-worker", func() ([]float64, error) { return node.latency(ctx, n) }})
	}
	s := samples{}
	for range b.opt.rounds {
		for _, side := range sides {
			list, err := side.run()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", side.name, err)
			}
			s.add(side.name, median(list))
			s.add(side.name+" p95", quantile(list, 0.95))
		}
	}
	var list []Figure
	for _, ours := range []string{"package", "work --stream"} {
		list = append(list, figure("6", "enqueue to start of work, p50, "+ours, "ms", s[ours], s.raw(ours+" p95", "ms")).atMost(1),
			s.ratio("6", "enqueue to start of work, "+ours+" / River", "ms", ours, "River, cooldown 1 ms").atMost(0.5))
		if b.opt.npm {
			list = append(list, s.ratio("6", "enqueue to start of work, "+ours+" / graphile-worker", "ms", ours, "graphile-worker"))
		}
	}
	return list, nil
}

// packageLatency has one goroutine wait for work and claim it, while another enqueues.
func (b *bench) packageLatency(ctx context.Context, url string, n int) ([]float64, error) {
	worker, err := b.client(ctx, url)
	if err != nil {
		return nil, err
	}
	defer worker.Close()
	ctx, stop := context.WithCancel(ctx)
	started, ended := make(chan time.Time, 1), make(chan error, 1)
	defer func() { stop(); <-ended }()
	go func() { ended <- serve(ctx, worker, started) }()
	return b.enqueueEach(ctx, url, "latency", n, func(int) (time.Time, error) {
		select {
		case at := <-started:
			return at, nil
		case <-time.After(10 * time.Second):
			return time.Time{}, errors.New("nobody claimed it in 10 s")
		}
	})
}

// serve claims whatever comes, as a worker does, and tells when it had it.
func serve(ctx context.Context, c *queue.Client, started chan<- time.Time) error {
	watch := queue.NewWatch(c, []string{"latency"}, true, func(string) {})
	defer watch.Close(context.WithoutCancel(ctx))
	for {
		got, err := c.Claim(ctx, queue.ClaimParams{Queues: []string{"latency"}, Owner: "bench", TTL: time.Minute, Limit: 10, Again: true})
		switch {
		case err == nil:
			for range got {
				started <- time.Now()
			}
			watch.Found()
			if err := complete(ctx, c, got); err != nil {
				return err
			}
		case errors.Is(err, todo.ErrEmpty):
			if err := watch.Next(ctx, time.Minute, todo.Time{}); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// enqueueEach enqueues one after the other and returns the times until each was started, in ms.
func (b *bench) enqueueEach(ctx context.Context, url, name string, n int, started func(i int) (time.Time, error)) ([]float64, error) {
	c, err := b.client(ctx, url)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := pause(ctx, time.Second); err != nil { // whoever waits listens by then
		return nil, err
	}
	var list []float64
	for i := range n + 5 {
		began := time.Now()
		if _, err := c.Enqueue(ctx, queue.NewTodo{Queue: name, Payload: strconv.Itoa(i), MaxAttempts: 5}); err != nil {
			return nil, err
		}
		at, err := started(i)
		if err != nil {
			return nil, err
		}
		if i >= 5 { // the first ones warm up
			list = append(list, ms(at.Sub(began)))
		}
		if err := pause(ctx, spacing(i)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// streamLatency measures until the command of work --stream has the line. The command tells the time of
// its machine on stderr, which work hands on.
func (b *bench) streamLatency(ctx context.Context, url string, n int) (list []float64, err error) {
	c := exec.CommandContext(ctx, b.todoctl, "work", "-q", "stream", "--stream", "--quiet", "--", b.self, "answer", "--tell")
	c.Env = b.env(url)
	pipe, err := c.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	defer func() {
		_ = c.Process.Signal(interrupt)
		err = errors.Join(err, c.Wait())
	}()
	lines := bufio.NewReader(pipe)
	defer func() { go func() { _, _ = io.Copy(io.Discard, lines) }() }()
	return b.enqueueEach(ctx, url, "stream", n, func(int) (time.Time, error) {
		line, err := lines.ReadString('\n')
		if err != nil {
			return time.Time{}, err
		}
		nano, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("work says: %s", line)
		}
		return time.Unix(0, nano), nil
	})
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
