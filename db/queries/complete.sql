-- Acknowledges todos. The row stays the record of its last lease, so nothing else is written.
-- Guard: the lease that the receipt names, or for a bare id the owner; with force, whoever holds it.
-- Rows are visited, and so locked, in id order, by a merge join: batches that meet do not deadlock. Index: todos_pkey,
-- one probe for each id: the ids are given twice, so that the key is never walked, however few rows statistics promise.
UPDATE todos t SET state = 'done', lease_expires_at = NULL, completed_at = greatest(now(), t.claimed_at), updated_at = now(),
       result = @result::text::jsonb
  FROM unnest(@ids::text[], @seqs::int[]) u(id, seq)
 WHERE t.id = u.id AND t.id = ANY (@ids::text[]) AND t.state = 'claimed' AND (u.seq IS NULL OR t.lease_seq = u.seq)
   AND (@force::bool OR (u.seq IS NOT NULL AND NOT @named::bool) OR t.owner = @owner::text)
RETURNING t.id, t.queue, t.state, t.owner, t.lease_expires_at, t.lease_seq, t.attempt, t.max_attempts,
       t.run_at, t.next_retry_at, now() AS server_now
