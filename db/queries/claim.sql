-- Claims the next todos of one queue: the caller's own assigned ones first, then the pool, first in first out.
-- Guard: queue not paused; due; assignee null or the caller; attempts left. A row at its cap is dead-lettered instead.
-- Index: idx_todos_assigned, then idx_todos_pool, each read in order and only as far as needed.
-- Rows are visited by ctid: a version that changed between snapshot and lock is left alone, so an answer
-- cut short proves nothing and is asked for again. History is read from the versions the UPDATE will touch,
-- never from the locked ones: a late heartbeat's lease runs on and must not be ended there.
WITH b AS MATERIALIZED (SELECT coalesce(pg_stat_get_xact_blocks_fetched(to_regclass('idx_todos_pool')), 0) AS pages),
c AS MATERIALIZED (
  SELECT x.cid, x.lapsed FROM (
    SELECT * FROM (SELECT ctid AS cid, state = 'claimed' AS lapsed FROM todos
       WHERE assignee = @owner::text AND queue = @queue::text AND available_at <= now()
       ORDER BY available_at LIMIT @n::int FOR UPDATE SKIP LOCKED) a
    UNION ALL
    SELECT * FROM (SELECT ctid, state = 'claimed' FROM todos
       WHERE assignee IS NULL AND queue = @queue::text AND available_at <= now()
         AND available_at >= coalesce(nullif(current_setting('todoctl.low', true), ''), '-infinity')::timestamptz
       ORDER BY available_at LIMIT @n::int FOR UPDATE SKIP LOCKED) p) x
  WHERE NOT EXISTS (SELECT 1 FROM queues z WHERE z.name = @queue::text
                       AND z.paused_at IS NOT NULL AND (z.paused_until IS NULL OR z.paused_until > now()))
    AND (SELECT pages FROM b) IS NOT NULL
  LIMIT @n::int),
h AS (INSERT INTO todo_attempts (todo_id, lease_seq, attempt, owner, claimed_at, outcome, error)
  SELECT o.id, o.lease_seq, o.attempt, o.owner, o.claimed_at,
         CASE WHEN o.attempt >= o.max_attempts THEN 'expired' ELSE 'taken over' END, 'lease expired'
    FROM todos o WHERE o.ctid = ANY (ARRAY(SELECT cid FROM c WHERE lapsed)))
UPDATE todos t SET
  state            = CASE WHEN t.attempt >= t.max_attempts THEN 'failed' ELSE 'claimed' END,
  owner            = CASE WHEN t.attempt >= t.max_attempts THEN t.owner ELSE @owner::text END,
  lease_expires_at = CASE WHEN t.attempt >= t.max_attempts THEN NULL ELSE now() + @ttl::interval END,
  claimed_at       = CASE WHEN t.attempt >= t.max_attempts THEN t.claimed_at ELSE now() END,
  completed_at     = CASE WHEN t.attempt >= t.max_attempts THEN now() END,
  error            = CASE WHEN t.attempt >= t.max_attempts AND t.state = 'claimed' THEN 'lease expired' ELSE t.error END,
  fingerprint      = CASE WHEN t.attempt >= t.max_attempts AND t.state = 'claimed' THEN @expired::text ELSE t.fingerprint END,
  attempt          = CASE WHEN t.attempt >= t.max_attempts THEN t.attempt ELSE t.attempt + 1 END,
  lease_seq        = CASE WHEN t.attempt >= t.max_attempts THEN t.lease_seq ELSE t.lease_seq + 1 END,
  next_retry_at    = NULL,
  updated_at       = now()
WHERE t.ctid = ANY (ARRAY(SELECT cid FROM c))
RETURNING t.*, now() AS server_now,
  (SELECT coalesce(pg_stat_get_xact_blocks_fetched(to_regclass('idx_todos_pool')), 0) - pages FROM b) AS walked
