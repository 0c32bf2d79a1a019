-- Deletes dead letters with their history.
-- Guard: still dead under the lock. Index: todos_pkey.
WITH l AS MATERIALIZED (
  SELECT id FROM todos WHERE id = ANY (@ids::text[]) AND state = 'failed' AND available_at IS NULL ORDER BY id FOR UPDATE)
DELETE FROM todos t USING l WHERE t.id = l.id RETURNING t.*, now() AS server_now
