-- Says what became of the first or the newest todos that an op moved, in the order of their ids: done (or gone, which only
-- what has ended can be), or failed since at least once and not done. The others have not ended yet.
-- Guard: none; changes no row. Index: todo_journal_rows_pkey, todos_pkey, todo_attempts_pkey.
SELECT count(*)::int AS moved, count(*) FILTER (WHERE t.id IS NULL OR t.state = 'done')::int AS done,
       count(*) FILTER (WHERE t.state = 'failed' OR t.state IN ('pending', 'claimed') AND EXISTS (
         SELECT 1 FROM todo_attempts a WHERE a.todo_id = t.id AND a.lease_seq > r.lease_seq AND a.outcome <> 'released'))::int AS failed
  FROM ((SELECT id, lease_seq FROM todo_journal_rows WHERE op = @op::text AND NOT @newest::bool ORDER BY id LIMIT @n::int)
        UNION ALL
        (SELECT id, lease_seq FROM todo_journal_rows WHERE op = @op::text AND @newest::bool ORDER BY id DESC LIMIT @n::int)) r
  LEFT JOIN LATERAL (SELECT * FROM todos WHERE id = r.id OFFSET 0) t ON true
