package main

import (
	"context"
	"fmt"
	"strings"
)

// rows describes todos that are made by the server itself.
type rows struct {
	n       int
	queue   string // an expression over i, from 1 to n
	columns map[string]string
}

// id makes an id of a number, in the form that the product knows.
func id(series int) string {
	return fmt.Sprintf("'td_01900000-0000-7000-8%03x-' || lpad(to_hex(i), 12, '0')", series)
}

// load makes rows in an empty table, and leaves it as autovacuum would.
func (b *bench) load(ctx context.Context, url string, list ...rows) error {
	for series, r := range list {
		names, values := []string{"id", "queue", "kind", "payload"}, []string{id(series), r.queue, "'mail'", quote(payload) + "::jsonb"}
		for name, value := range r.columns {
			names, values = append(names, name), append(values, value)
		}
		if err := b.exec(ctx, url, fmt.Sprintf("INSERT INTO todos (%s) SELECT %s FROM generate_series(1, %d) i",
			strings.Join(names, ", "), strings.Join(values, ", "), r.n)); err != nil {
			return err
		}
	}
	return b.exec(ctx, url, "INSERT INTO queues (name) SELECT DISTINCT queue FROM todos ON CONFLICT DO NOTHING",
		"VACUUM ANALYZE todos", "CHECKPOINT")
}

// Sorts of todos. Times follow the numbers, so that the first is the oldest.
func pending(n int, queue string) rows {
	return rows{n, queue, map[string]string{"run_at": "now() - interval '1 day' + i * interval '1 ms'"}}
}

func delayed(n int, queue string) rows {
	return rows{n, queue, map[string]string{"run_at": "now() + interval '1 day' + i * interval '1 ms'"}}
}

func assigned(n int, queue string) rows {
	r := pending(n, queue)
	r.columns["assignee"] = "'other-' || i % 10"
	return r
}

func done(n int, queue string) rows {
	return rows{n, queue, map[string]string{"state": "'done'", "owner": "'bench'", "attempt": "1", "lease_seq": "1",
		"claimed_at": "now() - interval '40 days'", "completed_at": "now() - interval '40 days' + i * interval '1 ms'", "run_at": "now() - interval '41 days'"}}
}

func dead(n int, queue string) rows {
	return rows{n, queue, map[string]string{"state": "'failed'", "owner": "'bench'", "attempt": "1", "lease_seq": "1", "error": "'boom'",
		"fingerprint": "'fp_0000000000000001'", "completed_at": "now() - interval '1 day' + i * interval '1 ms'", "run_at": "now() - interval '2 days'"}}
}

func lapsed(n int, queue string) rows {
	return rows{n, queue, map[string]string{"state": "'claimed'", "owner": "'gone'", "attempt": "1", "lease_seq": "1", "claimed_at": "now() - interval '1 hour'",
		"lease_expires_at": "now() - interval '30 minutes' + i * interval '1 us'", "run_at": "now() - interval '2 hours'"}}
}

// loaded is a database with such rows.
func (b *bench) loaded(ctx context.Context, list ...rows) (url string, drop func(), err error) {
	if url, drop, err = b.database(ctx, template); err != nil {
		return "", nil, err
	}
	if err := b.load(ctx, url, list...); err != nil {
		drop()
		return "", nil, err
	}
	return url, drop, nil
}
