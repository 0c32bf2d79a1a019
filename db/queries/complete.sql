-- Acknowledges todos. The row stays the record of its last lease, so nothing else is written.
-- Guard: the lease that the receipt names, or for a bare id the owner; with force, whoever holds it.
-- Rows are locked in id order before any is changed: batches that meet do not deadlock. Index: todos_pkey.
WITH l AS MATERIALIZED (
  SELECT t.id, t.owner, t.claimed_at, t.lease_seq, t.attempt
    FROM unnest(@ids::text[], @seqs::int[]) u(id, seq) JOIN todos t ON t.id = u.id
   WHERE t.state = 'claimed' AND (u.seq IS NULL OR t.lease_seq = u.seq)
     AND (@force::bool OR (u.seq IS NOT NULL AND NOT @named::bool) OR t.owner = @owner::text)
   ORDER BY t.id FOR UPDATE OF t)
UPDATE todos t SET state = 'done', lease_expires_at = NULL, completed_at = greatest(now(), t.claimed_at), updated_at = now(),
       result = @result::text::jsonb
  FROM l WHERE t.id = l.id RETURNING t.id, t.queue, t.state, t.owner, t.lease_expires_at, t.lease_seq, t.attempt, t.max_attempts,
       t.run_at, t.next_retry_at, now() AS server_now
