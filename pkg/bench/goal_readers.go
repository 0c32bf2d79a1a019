package main

import (
	"context"
	"fmt"
	"strings"
)

// readers is goal 9: the commands that people wait for, on a large table that is mostly done.
func (b *bench) readers(ctx context.Context) ([]Figure, error) {
	n := b.opt.big / 10
	url, drop, err := b.loaded(ctx, done(7*n, "'q' || i % 20"), keyed(done(n, "'q' || i % 20"), "done"), dead(n, "'q' || i % 20"), keyed(pending(n, "'q' || i % 20"), "live"),
		leased(min(n/10, 10_000), "'q' || i % 20"), retrying(min(n/10, 5_000), "'q' || i % 20"))
	if err != nil {
		return nil, err
	}
	defer drop()
	first, err := b.psqlRun(ctx, url, "SELECT min(id) FROM todos WHERE state = 'pending'")
	if err != nil {
		return nil, err
	}
	commands := []string{
		"version", "queues", "queues --window 1h", "queues -o prometheus", "check --max-age 1h", "check --max-expired 0", "check -q q3 --max-dead 5",
		"owners", "crashes", "leases advise", "doctor", "journal -n 50", "why -q q3", "why " + first.out, "show " + first.out,
		"list -n 50", "list -n 50 -q q3", "list -n 50 --state claimed", "list -n 50 --state delayed", "list -n 50 --key live-500",
		"list -n 50 --state all --key live-500", "list -n 50 --state all --key done-500", "list -n 50 --state retrying", "list -n 50 --fp fp_0000000000000002",
		"list -n 50 --state all --fp fp_0000000000000002", "list -n 50 --state all", "list -n 50 --state done", "list -n 50 -q q3 --state done", "list -n 50 --state done --since 1h", "list -n 50 --state done --since 60d", "list -n 50 --state done --until 1d", "list -n 50 --since 1h",
		"list -n 50 --state claimed --held-by w3",
		"dead-letters -n 50", "dead-letters -n 50 -q q3", "dead-letters -n 50 --fp fp_0000000000000001", "dead-letters -n 50 --since 1s", "dead-letters -n 50 --since 2d",
	}
	// What has no index reads this many rows and says so: the figure is of that.
	for _, filter := range []string{"--state all --kind none", "--state all --error none", "--held-by nobody", "--kind none"} {
		commands = append(commands, "list -n 50 --scan-limit 10000 "+filter)
	}
	s := samples{}
	for range b.opt.rounds {
		all := samples{}
		for range b.opt.shots {
			for _, c := range commands {
				f, err := b.todo(ctx, url, "", strings.Fields(c)...)
				if err != nil && !strings.HasPrefix(c, "check") && c != "doctor" { // which finds something to say, and says it by its status
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

// keyed gives todos idempotency keys.
func keyed(r rows, name string) rows {
	r.columns["idempotency_key"] = quote(name+"-") + " || i"
	return r
}

// retrying are todos that have failed and wait for their next attempt.
func retrying(n int, queue string) rows {
	return rows{n, queue, map[string]string{"state": "'failed'", "attempt": "1", "lease_seq": "1", "error": "'boom'", "fingerprint": "'fp_0000000000000002'",
		"next_retry_at": "now() + interval '1 hour' + i * interval '1 ms'", "run_at": "now() - interval '1 hour'"}}
}

// leased are todos that are worked on.
func leased(n int, queue string) rows {
	return rows{n, queue, map[string]string{"state": "'claimed'", "owner": "'w' || i % 50", "attempt": "1", "lease_seq": "1", "claimed_at": "now()",
		"lease_expires_at": "now() + interval '1 day' + i * interval '1 ms'", "run_at": "now() - interval '1 hour'"}}
}
