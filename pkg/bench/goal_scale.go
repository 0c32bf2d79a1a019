package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/todo"
)

// What is simulated: 1,000 workers and 100,000 todos a second, which no machine at hand carries.
const (
	scaleWorkers = 1000
	scaleOffered = 100_000
)

// scale simulates many workers on large servers, with what the statements cost this one. Both halves are in the
// figures: the costs that were measured, and what the simulation makes of them.
func (b *bench) scale(ctx context.Context) ([]Figure, error) {
	var list []Figure
	costs := map[string]cost{}
	for _, m := range []struct {
		name  string
		run   func(context.Context, *queue.Client, int) error
		files []string // of the statements that are its; none: all that run
	}{
		{"claim", claimSome, []string{"claim", "mark", "limits"}},
		{"complete", completeSome, []string{"complete", "notify"}}, // it needs a claim, whose cost is not its own
		{"enqueue", enqueueSome, nil},
	} {
		c, f, err := b.costOf(ctx, m.name, m.run, m.files)
		if err != nil {
			return list, fmt.Errorf("%s: %w", m.name, err)
		}
		costs[m.name] = c
		list = append(list, f...)
	}
	s := scene{workers: scaleWorkers, offered: scaleOffered, cores: 16, work: 5 * time.Millisecond, enqueue: 100, trip: time.Millisecond,
		flush: time.Millisecond, idle: 10 * time.Millisecond, claiming: costs["claim"], settling: costs["complete"], enqueuing: costs["enqueue"],
		length: max(b.opt.spell, 2*time.Second)} // simulated time; a worker needs half a second for a batch
	for _, databases := range []int{1, 2, 4, 8} {
		for _, batch := range []int{1, 10, 100} {
			s.databases, s.batch = databases, batch
			r := simulate(s, 1)
			list = append(list, figure("scale", fmt.Sprintf("simulated: completed / offered, %d databases of %d cores, batches of %d", databases, s.cores, batch), "x",
				[]float64{r.rate / scaleOffered}, one("claim p50", "ms", quantile(r.claims, 0.5)), one("claim p99", "ms", quantile(r.claims, 0.99)),
				one("wait p50", "ms", quantile(r.waits, 0.5)), one("wait p99", "ms", quantile(r.waits, 0.99)), one("cores busy", "%", 100*r.busy)))
		}
	}
	return list, nil
}

func one(name, unit string, v float64) Raw {
	return Raw{Name: name, Unit: unit, Median: v, Rounds: []float64{v}}
}

// costOf measures what the statements of a verb cost the server for one todo and for many, and takes a straight
// line through the two.
func (b *bench) costOf(ctx context.Context, name string, run func(context.Context, *queue.Client, int) error, files []string) (cost, []Figure, error) {
	const many = 100
	url, drop, err := b.loaded(ctx, pending(b.opt.few+(many+1)*(b.opt.shots+1)*3, "'bench'"))
	if err != nil {
		return cost{}, nil, err
	}
	defer drop()
	if files == nil {
		files = []string{""}
	}
	p, err := b.probe(ctx, url, files...)
	if err != nil {
		return cost{}, nil, err
	}
	defer p.close(ctx)
	if files[0] == "" {
		p.marks = append(p.marks, "%") // BEGIN and COPY are in no file
	}
	c, err := b.client(ctx, url)
	if err != nil {
		return cost{}, nil, err
	}
	defer c.Close()
	s := samples{}
	for _, n := range []int{1, many} {
		if err := run(ctx, c, n); err != nil { // warms up: a new session reads the catalog first
			return cost{}, nil, err
		}
		list, err := p.costs(ctx, b.opt.shots, func() error { return run(ctx, c, n) })
		if err != nil {
			return cost{}, nil, err
		}
		s[fmt.Sprint(n)] = list
	}
	single, batch := median(s["1"]), median(s[fmt.Sprint(many)])
	each := max((batch-single)/(many-1), 0)
	ms := func(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }
	return cost{once: ms(single - each), each: ms(each)}, []Figure{
		figure("scale", "measured: server time of "+name+", 1 todo", "ms", s["1"]),
		figure("scale", fmt.Sprintf("measured: server time of %s, %d todos", name, many), "ms", s[fmt.Sprint(many)]),
	}, nil
}

func claimSome(ctx context.Context, c *queue.Client, n int) error {
	_, err := c.Claim(ctx, queue.ClaimParams{Queues: []string{"bench"}, Owner: "bench", TTL: time.Minute, Limit: n})
	return err
}

func completeSome(ctx context.Context, c *queue.Client, n int) error {
	got, err := c.Claim(ctx, queue.ClaimParams{Queues: []string{"bench"}, Owner: "bench", TTL: time.Minute, Limit: n})
	if err != nil {
		return err
	}
	list := make([]queue.Completion, len(got))
	for i, t := range got {
		list[i].Receipt = todo.Receipt{ID: t.ID, Seq: t.LeaseSeq}
	}
	_, err = c.CompleteEach(ctx, list)
	return err
}

func enqueueSome(ctx context.Context, c *queue.Client, n int) error {
	if n == 1 {
		_, err := c.Enqueue(ctx, queue.NewTodo{Queue: "other", Payload: payload, MaxAttempts: 1})
		return err
	}
	i := 0
	_, err := c.EnqueueMany(ctx, func() (*queue.NewTodo, error) {
		if i++; i > n {
			return nil, io.EOF
		}
		return &queue.NewTodo{Queue: "other", Payload: payload, MaxAttempts: 1}, nil
	}, queue.BulkOptions{})
	return err
}
