-- Ends leases as failed: backoff, doubling with each attempt up to a cap, or a dead letter at the attempt cap.
-- run_at follows next_retry_at, so that the todo keeps that place; the exponent is clamped before the power.
-- Guard: the lease that the receipt names, or for a bare id the owner; with force, whoever holds it.
-- Rows are locked in id order before any is changed: batches that meet do not deadlock. Index: todos_pkey, one probe for each id.
-- As a plain join it walked the whole index in order wherever statistics were of when nothing was claimed; the ids stand
-- there once more so that the join with what is locked does not.
WITH l AS MATERIALIZED (
  SELECT t.id, t.owner, t.claimed_at, t.lease_seq, t.attempt, t.max_attempts
    FROM (SELECT * FROM unnest(@ids::text[], @seqs::int[]) u(id, seq) ORDER BY id) u
   CROSS JOIN LATERAL (SELECT t.id, t.owner, t.claimed_at, t.lease_seq, t.attempt, t.max_attempts FROM todos t
      WHERE t.id = u.id AND t.state = 'claimed' AND (u.seq IS NULL OR t.lease_seq = u.seq)
        AND (@force::bool OR (u.seq IS NOT NULL AND NOT @named::bool) OR t.owner = @owner::text)
        FOR UPDATE OF t) t),
f AS (
  UPDATE todos t SET state = 'failed', lease_expires_at = NULL, updated_at = now(),
         error = @error::text, fingerprint = @fingerprint::text, result = coalesce(@result::text::jsonb, t.result),
         owner         = CASE WHEN d.dead THEN t.owner END,
         claimed_at    = CASE WHEN d.dead THEN t.claimed_at END,
         next_retry_at = CASE WHEN NOT d.dead THEN now() + d.pause END,
         run_at        = CASE WHEN NOT d.dead THEN now() + d.pause ELSE t.run_at END,
         completed_at  = CASE WHEN d.dead THEN greatest(now(), t.claimed_at) END
    FROM l CROSS JOIN LATERAL (
      SELECT coalesce(@retry_in::interval, least(@cap::interval, @base::interval * 2 ^ least(greatest(l.attempt - 1, 0), 20))) AS pause,
             @dead::bool OR l.attempt >= l.max_attempts AS dead) d
   WHERE t.id = l.id AND t.id = ANY (@ids::text[]) RETURNING t.*),
h AS (
  INSERT INTO todo_attempts (todo_id, lease_seq, attempt, owner, claimed_at, ended_at, outcome, error, result)
  SELECT l.id, l.lease_seq, l.attempt, l.owner, l.claimed_at, greatest(now(), l.claimed_at), @outcome::text, @error::text, @result::text::jsonb FROM l)
SELECT f.*, now() AS server_now FROM f
