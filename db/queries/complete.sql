-- Acknowledges todos. The row stays the record of its last lease, so nothing else is written.
-- Guard: the lease that the receipt names, or for a bare id the owner; with force, whoever holds it.
-- Rows are visited, and so locked, in id order: batches that meet do not deadlock. Index: todos_pkey, one probe for each id.
-- The guard is hidden from the planner: where statistics are of when nothing was claimed, it would expect no row and walk
-- the whole index for it.
UPDATE todos t SET state = 'done', lease_expires_at = NULL, completed_at = greatest(now(), t.claimed_at), updated_at = now(),
       result = @result::text::jsonb
  FROM (SELECT * FROM unnest(@ids::text[], @seqs::int[]) u(id, seq) ORDER BY id) u
 WHERE t.id = u.id
   AND CASE WHEN t.state = 'claimed' AND (u.seq IS NULL OR t.lease_seq = u.seq)
            THEN @force::bool OR (u.seq IS NOT NULL AND NOT @named::bool) OR t.owner = @owner::text ELSE false END
RETURNING t.id, t.queue, t.state, t.owner, t.lease_expires_at, t.lease_seq, t.attempt, t.max_attempts,
       t.run_at, t.next_retry_at, now() AS server_now
