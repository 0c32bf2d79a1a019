-- Deletes terminal todos with their history.
-- Guard: still terminal under the lock. Index: todos_pkey; todo_attempts_pkey for the cascade.
WITH l AS MATERIALIZED (
  SELECT id FROM todos WHERE id = ANY (@ids::text[]) AND available_at IS NULL ORDER BY id FOR UPDATE SKIP LOCKED)
DELETE FROM todos t USING l WHERE t.id = l.id RETURNING t.id
