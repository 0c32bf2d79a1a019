-- Gives dead letters, and by id those that wait for a retry, a fresh budget of attempts.
-- Guard: dead with its key reserved or without a key; waiting for a retry where that was asked for; and as a plan has it,
-- where one is applied. Index: todos_pkey.
WITH l AS MATERIALIZED (
  SELECT id, to_jsonb(o) - '{payload,result,available_at}'::text[] AS image FROM todos o
   WHERE id = ANY (@ids::text[]) AND state = 'failed'
     AND (CASE WHEN next_retry_at IS NULL THEN @dead::bool AND (idempotency_key IS NULL OR id = ANY (@reserved::text[]))
               ELSE @retrying::bool END)
     AND (@stamps::text[] IS NULL OR EXISTS (
            SELECT 1 FROM unnest(@ids::text[], @seqs::int[], @stamps::text[]::timestamptz[]) u(id, seq, stamp)
             WHERE u.id = o.id AND u.seq = o.lease_seq AND u.stamp = o.updated_at))
   ORDER BY id FOR UPDATE),
f AS (
  UPDATE todos t SET state = 'pending', attempt = 0, max_attempts = coalesce(@max_attempts::int, t.max_attempts),
         run_at = now() + @delay::interval, owner = NULL, claimed_at = NULL, next_retry_at = NULL,
         completed_at = NULL, updated_at = greatest(now(), t.updated_at + interval '1 microsecond')
    FROM l WHERE t.id = l.id RETURNING t, l.image),
j AS (
  INSERT INTO todo_journal_rows (op, id, lease_seq, updated_at, image)
  SELECT @op::text, (f.t).id, (f.t).lease_seq, (f.t).updated_at, f.image FROM f)
SELECT (f.t).*, now() AS server_now FROM f
