package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/todoctl/todoctl/pkg/queue"
)

// interrupt is the signal on which a worker ends in order.
const interrupt = syscall.SIGTERM

// works runs true for each todo with work, and for each line with xargs: what a lease, its end and its
// history cost.
func (b *bench) works(ctx context.Context) ([]Figure, error) {
	url, drop, err := b.database(ctx, template)
	if err != nil {
		return nil, err
	}
	defer drop()
	n := max(b.opt.drain/50, 100)
	var numbers strings.Builder
	for i := range n {
		fmt.Fprintln(&numbers, i)
	}
	input := filepath.Join(b.dir, "numbers")
	if err := os.WriteFile(input, []byte(numbers.String()), 0o600); err != nil {
		return nil, err
	}
	s := samples{}
	for round := range b.opt.rounds + 1 {
		if err := b.filled(ctx, url, n); err != nil {
			return nil, err
		}
		ours, err := b.todo(ctx, url, "", "work", "-q", "bench", "-c", "4", "--drain", "--quiet", "--", "true")
		if err != nil {
			return nil, err
		}
		theirs, err := program(ctx, os.Environ(), input, "xargs", "-n", "1", "-P", "4", "true")
		if err != nil {
			return nil, err
		}
		if err := b.allDone(ctx, url, n); err != nil {
			return nil, err
		}
		if round > 0 {
			s.add("work", float64(n)/ours.took.Seconds())
			s.add("xargs", float64(n)/theirs.took.Seconds())
		}
	}
	return []Figure{s.ratio("work", "work -c 4 -- true / xargs -n 1 -P 4 true", "/s", "work", "xargs").atLeast(0.8)}, nil
}

// wakes measures how long a waiting claim takes from the commit of an enqueue to its answer.
func (b *bench) wakes(ctx context.Context) ([]Figure, error) {
	url, drop, err := b.database(ctx, template)
	if err != nil {
		return nil, err
	}
	defer drop()
	c, err := b.client(ctx, url)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	s := samples{}
	for range b.opt.rounds {
		var list []float64
		for range b.opt.shots {
			v, err := b.wake(ctx, url, c)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		s.add("p95", quantile(list, 0.95))
		s.add("p50", median(list))
	}
	return []Figure{figure("wake", "claim --wait, from the commit to its answer, p95", "ms", s["p95"], s.raw("p50", "ms")).atMost(20)}, nil
}

func (b *bench) wake(ctx context.Context, url string, c *queue.Client) (took float64, err error) {
	p := exec.CommandContext(ctx, b.todoctl, "claim", "-q", "wake", "--wait", "30s", "-o", "id")
	p.Env = b.env(url)
	out, err := p.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := p.Start(); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.Wait()) }()
	for waiting := "0"; waiting == "0"; { // until it says that it waits
		f, err := b.psqlRun(ctx, url, "SELECT count(*) FROM waiters WHERE name = 'wake'")
		if err != nil {
			return 0, err
		}
		waiting = f.out
	}
	if err := pause(ctx, 50*time.Millisecond); err != nil { // and has looked once more
		return 0, err
	}
	if _, err := c.Enqueue(ctx, queue.NewTodo{Queue: "wake", Payload: "1", MaxAttempts: 5}); err != nil {
		return 0, err
	}
	began := time.Now()
	_, err = bufio.NewReader(out).ReadString('\n')
	return ms(time.Since(began)), err
}
