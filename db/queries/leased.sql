-- Lists leases that still run, those first that end first: the first so many of each queue among what is due later, delays
-- and backoffs included.
-- Guard: none; changes no row. Index: idx_todos_pool, idx_todos_assigned.
SELECT l.*, now() AS server_now FROM (
  SELECT p.* FROM queues z CROSS JOIN LATERAL (
    SELECT t.* FROM todos t
     WHERE t.queue = z.name AND t.assignee IS NULL AND t.available_at IS NOT NULL AND t.available_at > now()
     ORDER BY t.available_at LIMIT @each::int) p
   WHERE @queues::text[] IS NULL OR z.name = ANY (@queues::text[])
  UNION ALL
  SELECT t.* FROM todos t
   WHERE t.assignee IS NOT NULL AND t.available_at IS NOT NULL AND t.available_at > now() AND t.state = 'claimed'
     AND (@queues::text[] IS NULL OR t.queue = ANY (@queues::text[]))) l
 WHERE l.state = 'claimed'
 ORDER BY l.available_at, l.id LIMIT @page::int
