-- Makes dead letters of todos that nobody is at work on, whatever pause or assignee say; with force, of leased ones too.
-- Counts neither an attempt nor a lease; a lease that it ends gets its row of history.
-- It may have waited for the claim that it ends, so an end is never before its beginning.
-- Guard: pending, retrying, or a lease that ran out; any lease with force. Index: todos_pkey.
WITH l AS MATERIALIZED (
  SELECT id, state, owner, claimed_at, lease_seq, attempt, coalesce(@reason::text, error, 'buried') AS error,
         to_jsonb(o) - '{payload,result,available_at}'::text[] AS image FROM todos o
   WHERE id = ANY (@ids::text[])
     AND (state = 'pending' OR state = 'failed' AND next_retry_at IS NOT NULL
          OR state = 'claimed' AND (@force::bool OR lease_expires_at <= now()))
   ORDER BY id FOR UPDATE),
f AS (
  UPDATE todos t SET state = 'failed', next_retry_at = NULL, lease_expires_at = NULL,
         updated_at = greatest(now(), t.updated_at + interval '1 microsecond'), completed_at = greatest(now(), t.claimed_at),
         error = l.error,
         fingerprint = CASE WHEN @reason::text IS NULL AND t.error IS NOT NULL THEN t.fingerprint ELSE @fingerprint::text END
    FROM l WHERE t.id = l.id RETURNING t, l.image),
h AS (
  INSERT INTO todo_attempts (todo_id, lease_seq, attempt, owner, claimed_at, ended_at, outcome, error)
  SELECT l.id, l.lease_seq, l.attempt, l.owner, l.claimed_at, greatest(now(), l.claimed_at), 'buried', l.error FROM l WHERE l.state = 'claimed'),
j AS (
  INSERT INTO todo_journal_rows (op, id, lease_seq, updated_at, image)
  SELECT @op::text, (f.t).id, (f.t).lease_seq, (f.t).updated_at, f.image FROM f)
SELECT (f.t).*, now() AS server_now FROM f
