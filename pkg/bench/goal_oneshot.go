package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/todoctl/todoctl/pkg/todo"
)

// oneShots is goal 1: claim and complete as processes of their own beside psql running the same
// statements. One after the other, so that a pair meets the same machine.
func (b *bench) oneShots(ctx context.Context) ([]Figure, error) {
	url, drop, err := b.database(ctx, template)
	if err != nil {
		return nil, err
	}
	defer drop()
	lines, err := b.lines(2*(b.opt.rounds+1)*b.opt.shots, 1)
	if err != nil {
		return nil, err
	}
	if _, err := b.todo(ctx, url, lines, "enqueue", "-q", "bench", "--from", "-", "--quiet"); err != nil {
		return nil, err
	}
	all := samples{}
	for round := range b.opt.rounds + 1 {
		s := samples{}
		for i := range b.opt.shots {
			if err := b.oneShot(ctx, url, i%2 == 0, s); err != nil {
				return nil, err
			}
		}
		for name, list := range s {
			if round > 0 { // the first round warms up
				all.add(name, median(list))
			}
		}
	}
	return []Figure{
		all.ratio("1", "one-shot claim / psql, same statement", "ms", "todoctl claim", "psql claim").atMost(1.05),
		all.ratio("1", "one-shot complete / psql, same statement", "ms", "todoctl complete", "psql complete").atMost(1.05),
		figure("1", "psql select 1, for scale", "ms", all["psql select 1"]),
	}, nil
}

// oneShot measures each command once; who begins changes.
func (b *bench) oneShot(ctx context.Context, url string, oursFirst bool, s samples) error {
	claim, err := literal("claim", map[string]string{"owner": "'psql'", "queue": "'bench'", "ttl": "'5 min'", "n": "1",
		"expired": quote(todo.Fingerprint("lease expired")), "low": "NULL"})
	if err != nil {
		return err
	}
	// The answer is cut to what complete needs; the server does the same work.
	claim = strings.Replace(claim, "RETURNING t.*, now() AS server_now", "RETURNING t.id || '@' || t.lease_seq, t.*, now() AS server_now", 1)
	var ours, theirs string
	steps := []func() error{
		func() error {
			f, err := b.todo(ctx, url, "", "claim", "-q", "bench", "-o", "receipt")
			ours = f.out
			s.add("todoctl claim", ms(f.took))
			return err
		},
		func() error {
			f, err := b.psqlRun(ctx, url, claim)
			theirs, _, _ = strings.Cut(f.out, "|")
			s.add("psql claim", ms(f.took))
			return err
		},
	}
	if err := inTurns(steps, oursFirst); err != nil {
		return err
	}
	id, seq, _ := strings.Cut(theirs, "@")
	complete, err := literal("complete", map[string]string{"ids": "'{" + id + "}'", "seqs": "'{" + seq + "}'", "force": "false", "named": "false",
		"owner": "'psql'", "result": "NULL"})
	if err != nil {
		return err
	}
	steps = []func() error{
		func() error {
			f, err := b.todo(ctx, url, "", "complete", ours)
			s.add("todoctl complete", ms(f.took))
			return err
		},
		func() error {
			f, err := b.psqlRun(ctx, url, complete)
			if err == nil && f.out == "" {
				err = fmt.Errorf("psql completed nothing of %q", theirs)
			}
			s.add("psql complete", ms(f.took))
			return err
		},
	}
	if err := inTurns(steps, oursFirst); err != nil {
		return err
	}
	f, err := b.psqlRun(ctx, url, "select 1")
	s.add("psql select 1", ms(f.took))
	return err
}

// inTurns runs steps in order, or from the last to the first.
func inTurns(steps []func() error, forward bool) error {
	for i := range steps {
		if !forward {
			i = len(steps) - 1 - i
		}
		if err := steps[i](); err != nil {
			return err
		}
	}
	return nil
}
