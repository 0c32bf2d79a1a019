-- Extends the leases that a worker keeps by a whole ttl from now, one that ran out included as long as nobody took it.
-- A row that somebody else has locked is passed over: it must not cost the others their leases.
-- Guard: the lease that the receipt names. Rows are locked in id order. Index: todos_pkey, one probe for each id.
-- As a plain join it walked the whole index in order wherever statistics were of when nothing was claimed; the ids stand
-- there once more so that the join with what is locked does not.
WITH l AS MATERIALIZED (
  SELECT t.id
    FROM (SELECT * FROM unnest(@ids::text[], @seqs::int[]) u(id, seq) ORDER BY id) u
   CROSS JOIN LATERAL (SELECT t.id FROM todos t
      WHERE t.id = u.id AND t.state = 'claimed' AND t.lease_seq = u.seq
        FOR UPDATE OF t SKIP LOCKED) t)
UPDATE todos t SET lease_expires_at = now() + @ttl::interval, updated_at = now()
  FROM l WHERE t.id = l.id AND t.id = ANY (@ids::text[]) RETURNING t.id, t.lease_seq
