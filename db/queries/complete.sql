-- Acknowledges todos. The row stays the record of its last lease, so nothing else is written.
-- Guard: the lease that the receipt names, or for a bare id the owner; with force, whoever holds it.
-- Rows are locked in id order before any is changed: batches that meet do not deadlock. Index: todos_pkey, one probe for each id.
-- As a plain join it walked the whole index in order wherever statistics were of when nothing was claimed.
WITH l AS MATERIALIZED (
  SELECT t.id, t.owner, t.claimed_at, t.lease_seq, t.attempt
    FROM (SELECT * FROM unnest(@ids::text[], @seqs::int[]) u(id, seq) ORDER BY id) u
   CROSS JOIN LATERAL (SELECT t.id, t.owner, t.claimed_at, t.lease_seq, t.attempt FROM todos t
      WHERE t.id = u.id AND t.state = 'claimed' AND (u.seq IS NULL OR t.lease_seq = u.seq)
        AND (@force::bool OR (u.seq IS NOT NULL AND NOT @named::bool) OR t.owner = @owner::text)
        FOR UPDATE OF t) t)
UPDATE todos t SET state = 'done', lease_expires_at = NULL, completed_at = greatest(now(), t.claimed_at), updated_at = now(),
       result = @result::text::jsonb
  FROM l WHERE t.id = l.id RETURNING t.id, t.queue, t.state, t.owner, t.lease_expires_at, t.lease_seq, t.attempt, t.max_attempts,
       t.run_at, t.next_retry_at, now() AS server_now
