package queue

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// broken lists the rows of a snapshot that no sequence of transitions can lead to. Every todo must
// have been made and moved by transitions alone.
const broken = `
WITH h AS (
  SELECT todo_id, count(*) AS leases, max(lease_seq) AS last, bool_or(ended_at < claimed_at) AS backwards FROM todo_attempts GROUP BY todo_id),
t AS (
  SELECT t.*, coalesce(h.leases, 0) AS leases, coalesce(h.last, 0) AS last, coalesce(h.backwards, false) AS backwards,
         t.lease_seq - CASE WHEN t.state IN ('claimed', 'done') THEN 1 ELSE 0 END AS over
    FROM todos t LEFT JOIN h ON h.todo_id = t.id)
SELECT what || ': ' || row_to_json(t)::text FROM t CROSS JOIN LATERAL (VALUES
  ('available_at is null for a live todo, or not for a terminal one',
     (available_at IS NULL) <> (state = 'done' OR state = 'failed' AND next_retry_at IS NULL)),
  ('a lease without state claimed, or the reverse', (state = 'claimed') <> (lease_expires_at IS NOT NULL)),
  ('claimed without owner, claimed_at, attempt or lease_seq',
     state = 'claimed' AND (owner IS NULL OR claimed_at IS NULL OR attempt < 1 OR lease_seq < 1)),
  ('done without its last lease', state = 'done' AND (owner IS NULL OR claimed_at IS NULL OR completed_at IS NULL OR lease_seq < 1)),
  ('completed_at of a live todo, or none of a terminal one', (completed_at IS NULL) <> (available_at IS NOT NULL)),
  ('it ended before it began', completed_at < claimed_at),
  ('an owner of a todo that waits', state = 'pending' AND (owner IS NOT NULL OR claimed_at IS NOT NULL)),
  ('an owner of a todo that retries', state = 'failed' AND next_retry_at IS NOT NULL AND (owner IS NOT NULL OR claimed_at IS NOT NULL)),
  ('a retry that is not at its run_at', next_retry_at <> run_at),
  ('a retry at the attempt cap', next_retry_at IS NOT NULL AND attempt >= max_attempts),
  ('more attempts than leases', attempt > lease_seq),
  ('an attempt beyond the cap', attempt > max_attempts),
  ('history of a lease that runs, or of none', last > over),
  ('a lease that ended without history', leases <> over),
  ('history that ended before it began', backwards),
  ('a reserved key that can be seen', starts_with(id, 'rsv:'))) v(what, holds)
 WHERE holds
UNION ALL
SELECT 'two live todos of one key: ' || queue || ' ' || idempotency_key FROM todos
 WHERE available_at IS NOT NULL AND idempotency_key IS NOT NULL GROUP BY queue, idempotency_key HAVING count(*) > 1`

// sound fails the test when a snapshot of the database breaks an invariant.
func sound(ctx context.Context, t *testing.T, conn *pgx.Conn) {
	t.Helper()
	err := pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, broken)
		if err != nil {
			return err
		}
		list, err := pgx.CollectRows(rows, pgx.RowTo[string])
		for _, s := range list {
			t.Error(s)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// The invariants must see what they are made for; a check that never fails proves nothing.
func TestInvariantsSeeWhatIsBroken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.add("q")
	w.takeOne("q", "a")
	sound(t.Context(), t, w.sql)
	for _, damage := range []string{
		`UPDATE todos SET lease_seq = 2`,
		`UPDATE todos SET attempt = 0`,
		`UPDATE todos SET completed_at = now()`,
		`INSERT INTO todo_attempts (todo_id, lease_seq, attempt, outcome) SELECT id, lease_seq, attempt, 'released' FROM todos`,
		`UPDATE todos SET state = 'done', lease_expires_at = NULL, completed_at = now(), owner = NULL`,
		`UPDATE todos SET state = 'pending', lease_expires_at = NULL`,
		`UPDATE todos SET state = 'failed', lease_expires_at = NULL, next_retry_at = now() + interval '1 h'`,
		`INSERT INTO todos (id, queue, run_at) VALUES ('rsv:x', 'q', 'infinity')`,
	} {
		w.exec("BEGIN")
		w.exec(damage)
		if w.text(broken) == "" {
			t.Errorf("nothing is said of %s on %s", damage, id)
		}
		w.exec("ROLLBACK")
	}
}
