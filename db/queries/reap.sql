-- Returns lapsed leases and due retries to pending, or makes dead letters of those at the attempt cap.
-- Guard: still due under the lock; what another transaction has locked is skipped, so overlapping reaps, claims and
-- heartbeats never wait for this one. Index: todos_pkey; the id form never misses a row that moved.
WITH c AS MATERIALIZED (
  SELECT id, state, owner, claimed_at, lease_seq, attempt, max_attempts FROM todos
   WHERE id = ANY (@ids::text[]) AND available_at <= now() AND state IN ('claimed', 'failed')
   ORDER BY id FOR UPDATE SKIP LOCKED),
h AS (
  INSERT INTO todo_attempts (todo_id, lease_seq, attempt, owner, claimed_at, outcome, error)
  SELECT id, lease_seq, attempt, owner, claimed_at, 'expired', 'lease expired' FROM c WHERE state = 'claimed')
UPDATE todos t SET
  state            = CASE WHEN c.attempt >= c.max_attempts THEN 'failed' ELSE 'pending' END,
  owner            = CASE WHEN c.attempt >= c.max_attempts THEN t.owner END,
  claimed_at       = CASE WHEN c.attempt >= c.max_attempts THEN t.claimed_at END,
  completed_at     = CASE WHEN c.attempt >= c.max_attempts THEN now() END,
  run_at           = CASE WHEN c.state = 'failed' THEN least(t.run_at, t.available_at) ELSE t.run_at END, -- where its backoff ended, also if that was moved by hand
  lease_expires_at = NULL,
  next_retry_at    = NULL,
  error            = CASE WHEN c.state = 'claimed' THEN 'lease expired' ELSE t.error END,
  fingerprint      = CASE WHEN c.state = 'claimed' THEN @expired::text ELSE t.fingerprint END,
  updated_at       = now()
FROM c WHERE t.id = c.id RETURNING c.state AS was, t.state AS state
