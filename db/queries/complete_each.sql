-- Acknowledges todos with a result of its own for each: what a worker does with a batch of children.
-- Guard: the lease that the receipt names. Rows are visited, and so locked, in id order, by a merge join. Index: todos_pkey,
-- one probe for each id: the ids are given twice, so that the key is never walked, however few rows statistics promise.
UPDATE todos t SET state = 'done', lease_expires_at = NULL, completed_at = greatest(now(), t.claimed_at), updated_at = now(),
       result = u.result::jsonb
  FROM unnest(@ids::text[], @seqs::int[], @results::text[]) u(id, seq, result)
 WHERE t.id = u.id AND t.id = ANY (@ids::text[]) AND t.state = 'claimed' AND t.lease_seq = u.seq
RETURNING t.id, t.queue, t.state, t.owner, t.lease_expires_at, t.lease_seq, t.attempt, t.max_attempts,
       t.run_at, t.next_retry_at, now() AS server_now
