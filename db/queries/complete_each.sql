-- Acknowledges todos with a result of its own for each: what a worker does with a batch of children.
-- Guard: the lease that the receipt names. Rows are locked in id order before any is changed. Index: todos_pkey, one probe for each id.
-- As a plain join it walked the whole index in order wherever statistics were of when nothing was claimed.
WITH l AS MATERIALIZED (
  SELECT t.id, u.result
    FROM (SELECT * FROM unnest(@ids::text[], @seqs::int[], @results::text[]) u(id, seq, result) ORDER BY id) u
   CROSS JOIN LATERAL (SELECT t.id FROM todos t
      WHERE t.id = u.id AND t.state = 'claimed' AND t.lease_seq = u.seq
        FOR UPDATE OF t) t)
UPDATE todos t SET state = 'done', lease_expires_at = NULL, completed_at = greatest(now(), t.claimed_at), updated_at = now(),
       result = l.result::jsonb
  FROM l WHERE t.id = l.id RETURNING t.id, t.queue, t.state, t.owner, t.lease_expires_at, t.lease_seq, t.attempt, t.max_attempts,
       t.run_at, t.next_retry_at, now() AS server_now
