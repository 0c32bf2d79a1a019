-- Claims one todo by its id.
-- Guard: as claim.sql. Index: todos_pkey.
WITH c AS MATERIALIZED (
  SELECT t0.ctid AS cid, t0.state = 'claimed' AS lapsed FROM todos t0
   WHERE t0.id = @id::text AND t0.available_at <= now() AND (t0.assignee IS NULL OR t0.assignee = @owner::text)
     AND NOT EXISTS (SELECT 1 FROM queues z WHERE z.name = t0.queue
                        AND z.paused_at IS NOT NULL AND (z.paused_until IS NULL OR z.paused_until > now()))
   FOR UPDATE OF t0 SKIP LOCKED),
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
RETURNING t.*, now() AS server_now
