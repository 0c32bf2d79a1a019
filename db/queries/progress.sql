-- Notes how far the workers of some leases are. No index holds it, so the row changes in place.
-- Guard: the lease that the receipt names. A miss is of no account: the lease's end will say so.
-- Rows are locked in id order before any is changed. Index: todos_pkey.
WITH l AS MATERIALIZED (
  SELECT t.id, u.percent
    FROM unnest(@ids::text[], @seqs::int[], @percents::int[]) u(id, seq, percent) JOIN todos t ON t.id = u.id
   WHERE t.state = 'claimed' AND t.lease_seq = u.seq
   ORDER BY t.id FOR UPDATE OF t)
UPDATE todos t SET progress = l.percent, progress_seq = t.lease_seq FROM l WHERE t.id = l.id
