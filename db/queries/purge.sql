-- Deletes dead letters with their history. It says dead in words that no index of dead letters has: by id is quicker.
-- Guard: still dead under the lock. Index: todos_pkey.
WITH l AS MATERIALIZED (
  SELECT id FROM todos WHERE id = ANY (@ids::text[]) AND state = 'failed' AND next_retry_at IS NULL ORDER BY id FOR UPDATE)
DELETE FROM todos t USING l WHERE t.id = l.id RETURNING t.*, now() AS server_now
