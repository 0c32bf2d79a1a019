package main

import (
	"context"
	"fmt"
	"time"

	"github.com/todoctl/todoctl/pkg/queue"
)

// variant is a table that claims are measured on.
type variant struct {
	name   string
	goal   float64 // of its claims to those of the small table
	queues []string
	rows   []rows
}

// claims is goal 7: what a claim costs the server does not depend on what else the table holds.
func (b *bench) claims(ctx context.Context) ([]Figure, error) {
	few, some, many := b.opt.few, b.opt.big/10, b.opt.big
	one := []string{"q0"}
	var hundred []string
	for i := range 100 {
		hundred = append(hundred, fmt.Sprintf("q%d", i))
	}
	variants := []variant{
		{"small", 0, one, []rows{pending(few, "'q0'")}},
		{"many pending", 1.2, one, []rows{pending(many, "'q0'")}},
		{"100 queues", 3, hundred, []rows{pending(100*few, "'q' || i % 100")}},
		{"delayed", 1.1, one, []rows{pending(few, "'q0'"), delayed(some, "'q0'")}},
		{"assigned to others", 1.1, one, []rows{pending(few, "'q0'"), assigned(some, "'q0'")}},
		{"done", 1.1, one, []rows{pending(few, "'q0'"), done(many, "'q0'")}},
	}
	s := samples{}
	var probes []*probe
	var clients []*queue.Client
	for _, v := range variants {
		url, drop, err := b.loaded(ctx, v.rows...)
		if err != nil {
			return nil, err
		}
		defer drop()
		p, err := b.probe(ctx, url, "claim")
		if err != nil {
			return nil, err
		}
		defer p.close(ctx)
		c, err := b.client(ctx, url)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		probes, clients = append(probes, p), append(clients, c)
		b.note("loaded: %s", v.name)
	}
	for round := range b.opt.rounds + 1 {
		for i, v := range variants {
			list, err := probes[i].costs(ctx, b.opt.shots, func() error { return claimOne(ctx, clients[i], v.queues...) })
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.name, err)
			}
			if round > 0 { // the first warms up
				s.add(v.name, median(list))
			}
		}
	}
	var list []Figure
	for _, v := range variants[1:] {
		list = append(list, s.ratio("7", "claim, "+v.name+" / small table, server time", "ms", v.name, "small").atMost(v.goal))
	}
	return list, nil
}

func claimOne(ctx context.Context, c *queue.Client, queues ...string) error {
	_, err := c.Claim(ctx, queue.ClaimParams{Queues: queues, Owner: "bench", TTL: time.Minute})
	return err
}
