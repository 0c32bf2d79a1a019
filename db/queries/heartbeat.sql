-- Extends leases by a whole ttl from now, one that ran out included as long as nobody took it.
-- Guard: the lease that the receipt names, or for a bare id the owner; with force, whoever holds it.
-- Rows are locked in id order before any is changed: batches that meet do not deadlock. Index: todos_pkey, one probe for each id.
-- As a plain join it walked the whole index in order wherever statistics were of when nothing was claimed; the ids stand
-- there once more so that the join with what is locked does not.
WITH l AS MATERIALIZED (
  SELECT t.id, t.owner, t.claimed_at, t.lease_seq, t.attempt
    FROM (SELECT * FROM unnest(@ids::text[], @seqs::int[]) u(id, seq) ORDER BY id) u
   CROSS JOIN LATERAL (SELECT t.id, t.owner, t.claimed_at, t.lease_seq, t.attempt FROM todos t
      WHERE t.id = u.id AND t.state = 'claimed' AND (u.seq IS NULL OR t.lease_seq = u.seq)
        AND (@force::bool OR (u.seq IS NOT NULL AND NOT @named::bool) OR t.owner = @owner::text)
        FOR UPDATE OF t) t)
UPDATE todos t SET lease_expires_at = now() + @ttl::interval, updated_at = now()
  FROM l WHERE t.id = l.id AND t.id = ANY (@ids::text[]) RETURNING t.*, now() AS server_now
