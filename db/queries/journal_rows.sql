-- Reads one page of what a verb touched, in the order of the ids.
-- Guard: none; changes no row. Index: todo_journal_rows_pkey.
SELECT r.id, r.undone_by FROM todo_journal_rows r
 WHERE r.op = @op::text AND r.id > @after::text ORDER BY r.id LIMIT @page::int
