-- Says of some todos of a plan which the plan's op has moved already, and which are dead or retrying still, as the plan has
-- them; and how many the op has moved, up to a limit.
-- The op is new to the statistics: but for OFFSET 0 all of its rows would be read each time.
-- Guard: none; changes no row. Index: todo_journal_rows_pkey, todos_pkey.
SELECT u.id, r.op IS NOT NULL AS already, coalesce(t.state = 'failed' AND t.lease_seq = u.seq AND t.updated_at = u.stamp, false) AS same,
       (SELECT count(*) FROM (SELECT 1 FROM todo_journal_rows m WHERE m.op = @op::text LIMIT @limit::int) m)::int AS moved
  FROM unnest(@ids::text[], @seqs::int[], @stamps::text[]::timestamptz[]) WITH ORDINALITY u(id, seq, stamp, place)
  LEFT JOIN LATERAL (SELECT * FROM todos WHERE id = u.id OFFSET 0) t ON true
  LEFT JOIN LATERAL (SELECT r.op FROM todo_journal_rows r WHERE r.op = @op::text AND r.id = u.id OFFSET 0) r ON true
 ORDER BY u.place
