-- Extends the leases that a worker keeps by a whole ttl from now, one that ran out included as long as nobody took it.
-- A row that somebody else has locked is passed over: it must not cost the others their leases.
-- Guard: the lease that the receipt names. Rows are locked in id order. Index: todos_pkey.
WITH l AS MATERIALIZED (
  SELECT t.id
    FROM unnest(@ids::text[], @seqs::int[]) u(id, seq) JOIN todos t ON t.id = u.id
   WHERE t.state = 'claimed' AND t.lease_seq = u.seq
   ORDER BY t.id FOR UPDATE OF t SKIP LOCKED)
UPDATE todos t SET lease_expires_at = now() + @ttl::interval, updated_at = now()
  FROM l WHERE t.id = l.id RETURNING t.id, t.lease_seq
