-- Lists one page of terminal todos in id order, for retention.
-- Guard: none; changes no row. Index: todos_pkey. Ids are made in order of creation, so the oldest come first.
SELECT id, queue, state, completed_at IS NULL OR completed_at < now() - @older_than::interval AS old FROM todos
 WHERE id > @after::text AND available_at IS NULL
 ORDER BY id LIMIT @page::int
