package main

import (
	"context"
	"path/filepath"
)

// copied are the columns that an enqueue of lines fills and that \copy is given.
const copied = "id, queue, source, kind, title, payload, idempotency_key, max_attempts, run_at"

// bulk is goal 3: lines into a table with its indexes, beside \copy of the same rows into the same
// table and River's inserts.
func (b *bench) bulk(ctx context.Context) ([]Figure, error) {
	url, drop, err := b.database(ctx, template)
	if err != nil {
		return nil, err
	}
	defer drop()
	lines, err := b.lines(b.opt.lines, 1)
	if err != nil {
		return nil, err
	}
	river, err := b.river(ctx)
	if err != nil {
		return nil, err
	}
	defer river.close()
	rows := filepath.Join(b.dir, "rows.tsv")
	s := samples{}
	n := float64(b.opt.lines) / 1000
	for round := range b.opt.rounds + 1 {
		if err := b.emptied(ctx, url); err != nil {
			return nil, err
		}
		f, err := b.todo(ctx, url, lines, "enqueue", "-q", "bench", "--from", "-", "--quiet")
		if err != nil {
			return nil, err
		}
		if round == 0 { // warms up, and gives the rows that are copied
			if _, err := b.psqlRun(ctx, url, `\copy (SELECT `+copied+` FROM todos ORDER BY id) TO `+rows); err != nil {
				return nil, err
			}
			continue
		}
		s.add("enqueue --from", n/f.took.Seconds())
		s.add("resident", f.peak)
		if err := b.emptied(ctx, url); err != nil {
			return nil, err
		}
		if f, err = b.psqlRun(ctx, url, `\copy todos (`+copied+`) FROM `+rows); err != nil {
			return nil, err
		}
		s.add(`\copy`, n/f.took.Seconds())
		for name, fast := range map[string]bool{"InsertMany": false, "InsertManyFast": true} {
			if err := river.reset(ctx); err != nil {
				return nil, err
			}
			took, err := river.insert(ctx, b.opt.lines, fast)
			if err != nil {
				return nil, err
			}
			s.add(name, n/took.Seconds())
		}
	}
	const unit = "k/s"
	return []Figure{
		s.ratio("3", `enqueue --from / \copy of the same rows`, unit, "enqueue --from", `\copy`).atLeast(0.6),
		s.ratio("3", "enqueue --from / River InsertMany", unit, "enqueue --from", "InsertMany").atLeast(1.7),
		s.ratio("3", "enqueue --from / River InsertManyFast", unit, "enqueue --from", "InsertManyFast").atLeast(1),
		figure("3", "resident memory of enqueue --from", "MiB", s["resident"]).atMost(64),
	}, nil
}

// bulkMemory is the other half of goal 3: ten times the lines take no more memory.
func (b *bench) bulkMemory(ctx context.Context) ([]Figure, error) {
	url, drop, err := b.database(ctx, template)
	if err != nil {
		return nil, err
	}
	defer drop()
	lines, err := b.lines(10*b.opt.lines, 1)
	if err != nil {
		return nil, err
	}
	f, err := b.todo(ctx, url, lines, "enqueue", "-q", "bench", "--from", "-", "--quiet")
	if err != nil {
		return nil, err
	}
	rate := Raw{Name: "rate", Unit: "k/s", Median: float64(10*b.opt.lines) / 1000 / f.took.Seconds()}
	return []Figure{figure("3m", "resident memory of ten times the lines", "MiB", []float64{f.peak}, rate).atMost(64)}, nil
}

// emptied empties the tables, so that every round begins alike.
func (b *bench) emptied(ctx context.Context, url string) error {
	return b.exec(ctx, url, "TRUNCATE todos, events, todo_attempts, queues", "VACUUM todos", "CHECKPOINT")
}
