-- Moves pending todos forward, by a duration or to the front of their queue.
-- Guard: pending. Index: todos_pkey; for the front, idx_todos_pool, one probe.
WITH l AS MATERIALIZED (
  SELECT id FROM todos WHERE id = ANY (@ids::text[]) AND state = 'pending' ORDER BY id FOR UPDATE)
UPDATE todos t SET updated_at = now(),
       run_at = CASE WHEN @front::bool THEN
           least(t.run_at, now(), (SELECT h.available_at FROM todos h WHERE h.queue = t.queue AND h.assignee IS NULL
              AND h.available_at IS NOT NULL ORDER BY h.available_at LIMIT 1)) - interval '1 microsecond'
         ELSE t.run_at - @by::interval END
  FROM l WHERE t.id = l.id RETURNING t.*, now() AS server_now
