-- Acknowledges todos with a result of its own for each: what a worker does with a batch of children.
-- Guard: the lease that the receipt names. Rows are locked in id order before any is changed. Index: todos_pkey.
WITH l AS MATERIALIZED (
  SELECT t.id, u.result
    FROM unnest(@ids::text[], @seqs::int[], @results::text[]) u(id, seq, result) JOIN todos t ON t.id = u.id
   WHERE t.state = 'claimed' AND t.lease_seq = u.seq
   ORDER BY t.id FOR UPDATE OF t)
UPDATE todos t SET state = 'done', lease_expires_at = NULL, completed_at = greatest(now(), t.claimed_at), updated_at = now(),
       result = l.result::jsonb
  FROM l WHERE t.id = l.id RETURNING t.id, t.queue, t.state, t.owner, t.lease_expires_at, t.lease_seq, t.attempt, t.max_attempts,
       t.run_at, t.next_retry_at, now() AS server_now
