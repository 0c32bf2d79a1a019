-- Reads one page of what a verb touched, in the order of the ids, and says of each todo whether it still is as the verb left it.
-- Guard: none; changes no row. Index: todo_journal_rows_pkey, todos_pkey.
SELECT r.id, r.undone_by, coalesce(t.lease_seq = r.lease_seq AND t.updated_at = r.updated_at, false) AS still
  FROM (SELECT id, undone_by, lease_seq, updated_at FROM todo_journal_rows
         WHERE op = @op::text AND id > @after::text ORDER BY id LIMIT @page::int) r
  LEFT JOIN LATERAL (SELECT * FROM todos WHERE id = r.id OFFSET 0) t ON true
 ORDER BY r.id
