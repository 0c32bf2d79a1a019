-- Claims the next todos of several queues: own assigned ones over all queues first, then the queue whose
-- head is oldest, filled from before the next is touched; with strict, the queues in the order given. A head that is younger
-- than until is left aside: the caller knows that some other queue may have an older one.
-- Guard: as claim.sql. Index: idx_todos_assigned and idx_todos_pool: one probe for each queue's head, then in order.
WITH b AS MATERIALIZED (SELECT coalesce(pg_stat_get_xact_blocks_fetched(to_regclass('idx_todos_pool')), 0) AS pages),
c AS MATERIALIZED (
  SELECT k.cid, k.lapsed FROM (
    SELECT q.q, h.mine FROM unnest(@queues::text[]) WITH ORDINALITY q(q, o)
    CROSS JOIN LATERAL (
      SELECT * FROM (SELECT available_at AS at, true AS mine FROM todos WHERE assignee = @owner::text AND queue = q.q
         AND available_at <= now() ORDER BY available_at LIMIT 1) a
      UNION ALL
      SELECT * FROM (SELECT available_at, false FROM todos WHERE assignee IS NULL AND queue = q.q
         AND available_at <= now()
         AND available_at >= coalesce(nullif(current_setting('todoctl.low', true), ''), '-infinity')::timestamptz ORDER BY available_at LIMIT 1) p) h
    WHERE NOT EXISTS (SELECT 1 FROM queues z WHERE z.name = q.q
                         AND z.paused_at IS NOT NULL AND (z.paused_until IS NULL OR z.paused_until > now()))
      AND (SELECT pages FROM b) IS NOT NULL
      AND (h.mine OR @until::timestamptz IS NULL OR h.at <= @until::timestamptz)
    ORDER BY CASE WHEN @strict::bool THEN q.o END, h.mine DESC, h.at OFFSET 0) hq
  CROSS JOIN LATERAL (
    SELECT * FROM (SELECT ctid AS cid, state = 'claimed' AS lapsed FROM todos
       WHERE hq.mine AND assignee = @owner::text AND queue = hq.q AND available_at <= now()
       ORDER BY available_at LIMIT @n::int FOR UPDATE SKIP LOCKED) a
    UNION ALL
    SELECT * FROM (SELECT ctid, state = 'claimed' FROM todos
       WHERE NOT hq.mine AND assignee IS NULL AND queue = hq.q AND available_at <= now()
         AND available_at >= coalesce(nullif(current_setting('todoctl.low', true), ''), '-infinity')::timestamptz
       ORDER BY available_at LIMIT @n::int FOR UPDATE SKIP LOCKED) p) k
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
