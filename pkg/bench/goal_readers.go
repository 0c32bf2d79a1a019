package main

import (
	"context"
	"fmt"
	"strings"
)

// readers is goal 9: the commands that people wait for, on a large table that is mostly done.
func (b *bench) readers(ctx context.Context) ([]Figure, error) {
	n := b.opt.big / 10
	url, drop, err := b.loaded(ctx, done(8*n, "'q' || i % 20"), dead(n, "'q' || i % 20"), pending(n, "'q' || i % 20"))
	if err != nil {
		return nil, err
	}
	defer drop()
	first, err := b.psqlRun(ctx, url, "SELECT min(id) FROM todos WHERE state = 'pending'")
	if err != nil {
		return nil, err
	}
	commands := []string{"queues", "list -n 50", "list -n 50 -q q3 --state done", "list -n 50 --state all", "dead-letters -n 50", "show " + first.out}
	s := samples{}
	for range b.opt.rounds {
		all := samples{}
		for range b.opt.shots {
			for _, c := range commands {
				f, err := b.todo(ctx, url, "", strings.Fields(c)...)
				if err != nil {
					return nil, err
				}
				all.add(c, ms(f.took))
			}
		}
		for _, c := range commands {
			s.add(c, quantile(all[c], 0.95))
			s.add(c+" p50", median(all[c]))
		}
	}
	var list []Figure
	for _, c := range commands {
		name, _, _ := strings.Cut(c, " td_")
		list = append(list, figure("9", fmt.Sprintf("%s, p95 on %d rows", name, b.opt.big), "ms", s[c], s.raw(c+" p50", "ms")).atMost(50))
	}
	return list, nil
}
