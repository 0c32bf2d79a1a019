package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// load fills the table as a year of work leaves it: mostly done, then dead letters, a backlog,
// todos for others, delayed ones and retries that wait or are due, over a hundred queues; and one small
// queue, whose todos are scattered over the whole table. Nothing is claimed yet. The indexes are made
// anew after the load, which is quicker, and the table's size in the catalog is put back to what
// ANALYZE saw when the table was empty.
const load = `
ALTER TABLE todos SET (autovacuum_enabled = false);
ANALYZE todos;
CREATE TABLE definitions AS SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'todos' AND indexname <> 'todos_pkey';
DO $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM definitions LOOP EXECUTE 'DROP INDEX ' || r.indexname; END LOOP; END $$;
INSERT INTO queues (name) SELECT 'q' || to_char(i, 'FM00') FROM generate_series(0, 99) i;
INSERT INTO todos (id, queue, state, idempotency_key, assignee, owner, claimed_at, completed_at, lease_seq, attempt, run_at, next_retry_at, error, fingerprint)
SELECT 'td_' || to_char(i, 'FM00000000'), CASE WHEN i % 1000 = 999 AND r BETWEEN 65 AND 84 THEN 'small' ELSE 'q' || to_char(i % 100, 'FM00') END,
       CASE WHEN r < 60 THEN 'done' WHEN r < 65 OR r >= 93 THEN 'failed' ELSE 'pending' END,
       CASE WHEN i % 2 = 0 THEN 'k' || i END, CASE WHEN r BETWEEN 85 AND 89 THEN 'w' || i % 7 END,
       CASE WHEN r < 65 THEN 'a' END, CASE WHEN r < 65 THEN now() - interval '1 min' END, CASE WHEN r < 65 THEN now() - interval '1 min' + i * interval '1 us' END,
       CASE WHEN r < 65 THEN 1 ELSE 0 END, CASE WHEN r < 65 THEN 1 ELSE 0 END,
       now() + CASE WHEN r BETWEEN 90 AND 95 THEN interval '1 day' ELSE interval '-1 day' END + i * interval '1 ms',
       CASE WHEN r >= 93 THEN now() + CASE WHEN r < 96 THEN interval '1 day' ELSE interval '-1 day' END + i * interval '1 ms' END,
       CASE WHEN r BETWEEN 60 AND 64 OR r >= 93 THEN 'boom' END, CASE WHEN r BETWEEN 60 AND 64 OR r >= 93 THEN 'f' || i % 20 END
  FROM (SELECT i, i::bigint * 31 / 100 % 100 AS r FROM generate_series(1, ROWS) i) g;
DO $$ DECLARE r record; BEGIN FOR r IN SELECT * FROM definitions LOOP EXECUTE r.indexdef; END LOOP; END $$;
UPDATE pg_class SET reltuples = 0, relpages = 0 WHERE oid = 'todos'::regclass`

// lease5 leases a part of the backlog, half of it with leases that have run out.
const lease5 = `
UPDATE todos SET state = 'claimed', owner = 'a', claimed_at = now() - interval '2 h', lease_seq = 1, attempt = 1,
       lease_expires_at = now() + CASE WHEN substr(id, 11)::int % 20 = 7 THEN interval '1 h' ELSE interval '-1 h' END
 WHERE state = 'pending' AND run_at < now() AND id LIKE '%7'`

// node is one node of a plan.
type node struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Index    string  `json:"Index Name"`
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Removed  float64 `json:"Rows Removed by Filter"`
	Plans    []node  `json:"Plans"`
}

// walk calls f for a node and all below it.
func (n *node) walk(f func(*node)) {
	f(n)
	for i := range n.Plans {
		n.Plans[i].walk(f)
	}
}

// plan explains a statement in a transaction that has the settings which the client sends with it,
// and rolls it back. how is "custom", "generic", or "run" to run it and count.
func (w *world) plan(name, how string, args pgx.StrictNamedArgs, methods []string) *node {
	w.t.Helper()
	ctx := context.Background()
	var text []byte
	rollback := errors.New("rolled back")
	err := pgx.BeginFunc(ctx, w.sql, func(t pgx.Tx) error {
		x := &tx{ctx: ctx, tx: t}
		set := off(methods...)
		set.add("todoctl.low", "-infinity")
		if err := x.do(w.limits(ctx, set)); err != nil {
			return err
		}
		sql, err := statement(name)
		if err != nil {
			return err
		}
		switch how {
		case "generic":
			out, n := positional(w.t, sql)
			run := "EXPLAIN (FORMAT JSON) EXECUTE p"
			if n > 0 {
				run += " (NULL" + strings.Repeat(", NULL", n-1) + ")"
			}
			if _, err := t.Exec(ctx, "SET LOCAL plan_cache_mode = force_generic_plan; PREPARE p AS "+out, pgx.QueryExecModeSimpleProtocol); err != nil {
				return err
			}
			err = t.QueryRow(ctx, run, pgx.QueryExecModeSimpleProtocol).Scan(&text)
			if _, drop := t.Exec(ctx, "DEALLOCATE p"); err == nil {
				err = drop
			}
		case "run":
			err = t.QueryRow(ctx, "EXPLAIN (FORMAT JSON, ANALYZE, TIMING OFF) "+sql, args).Scan(&text)
		default:
			err = t.QueryRow(ctx, "EXPLAIN (FORMAT JSON) "+sql, args).Scan(&text)
		}
		if err != nil {
			return err
		}
		return rollback
	})
	if !errors.Is(err, rollback) {
		w.t.Fatalf("%s, %s: %v", name, how, err)
	}
	var plans []struct{ Plan node }
	if err := json.Unmarshal(text, &plans); err != nil {
		w.t.Fatal(err)
	}
	return &plans[0].Plan
}

// faults says what is wrong with a plan: a scan of todos that is not by one of the indexes, a bitmap
// where the order matters, a sort of todos' rows.
func (n *node) faults(indexes []string, bitmap, sort bool) []string {
	var list []string
	n.walk(func(p *node) {
		index := p.Index
		switch p.Type {
		case "Seq Scan":
			if p.Relation == "todos" {
				list = append(list, "a scan of the whole table")
			}
		case "Bitmap Index Scan":
			if !bitmap {
				list = append(list, "a bitmap of "+index)
			}
		case "Sort", "Incremental Sort":
			if !sort {
				list = append(list, "a sort")
			}
		}
		if strings.HasPrefix(index, "idx_todos") || index == "todos_pkey" {
			if !slices.Contains(indexes, index) {
				list = append(list, fmt.Sprintf("%s by %s", p.Type, index))
			}
		}
	})
	return list
}

// rows counts the rows of todos that a plan read when it ran.
func (n *node) rows() int {
	sum := 0.0
	n.walk(func(p *node) {
		if p.Relation == "todos" && strings.HasSuffix(p.Type, "Scan") {
			sum += (p.Rows + p.Removed) * p.Loops
		}
	})
	return int(sum)
}

// The checks must see a bad plan.
func TestPlanFaultsAreSeen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec("SET enable_indexscan = off; SET enable_bitmapscan = off")
	args := pgx.StrictNamedArgs{"id": "x", "owner": "a", "ttl": "1 h", "expired": ""}
	for how := range map[string]bool{"custom": true, "generic": true} {
		if list := w.plan("claim_id", how, args, nil).faults(nil, false, false); len(list) == 0 {
			t.Errorf("%s: a scan of the whole table is not seen", how)
		}
	}
}
