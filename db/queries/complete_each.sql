-- Acknowledges todos with a result of its own for each: what a worker does with a batch of children.
-- Guard: the lease that the receipt names. Rows are visited, and so locked, in id order. Index: todos_pkey, one probe for each id.
-- The guard is hidden from the planner: where statistics are of when nothing was claimed, it would expect no row and walk
-- the whole index for it.
UPDATE todos t SET state = 'done', lease_expires_at = NULL, completed_at = greatest(now(), t.claimed_at), updated_at = now(),
       result = u.result::jsonb
  FROM (SELECT * FROM unnest(@ids::text[], @seqs::int[], @results::text[]) u(id, seq, result) ORDER BY id) u
 WHERE t.id = u.id AND CASE WHEN t.state = 'claimed' THEN t.lease_seq = u.seq ELSE false END
RETURNING t.id, t.queue, t.state, t.owner, t.lease_expires_at, t.lease_seq, t.attempt, t.max_attempts,
       t.run_at, t.next_retry_at, now() AS server_now
