-- Notes how far the workers of some leases are. No index holds it, so the row changes in place.
-- Guard: the lease that the receipt names. A miss is of no account: the lease's end will say so.
-- Rows are locked in id order before any is changed. Index: todos_pkey, one probe for each id.
-- As a plain join it walked the whole index in order wherever statistics were of when nothing was claimed; the ids stand
-- there once more so that the join with what is locked does not.
WITH l AS MATERIALIZED (
  SELECT t.id, u.percent
    FROM (SELECT * FROM unnest(@ids::text[], @seqs::int[], @percents::int[]) u(id, seq, percent) ORDER BY id) u
   CROSS JOIN LATERAL (SELECT t.id FROM todos t
      WHERE t.id = u.id AND t.state = 'claimed' AND t.lease_seq = u.seq
        FOR UPDATE OF t) t)
UPDATE todos t SET progress = l.percent, progress_seq = t.lease_seq FROM l WHERE t.id = l.id AND t.id = ANY (@ids::text[])
