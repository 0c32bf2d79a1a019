-- Lists the todos that changed since a moment, as far as indexes show them: live ones that are due since then, those that
-- are due next (leases, delays and backoffs, the first so many in all queues together, but 500 of each), those that ended, those of which a lease
-- ended, and new ones by the time in their ids.
-- Guard: none; changes no row. Index: idx_todos_pool, idx_todos_assigned, idx_todos_ended, idx_attempts_ended, todos_pkey.
WITH q AS MATERIALIZED (SELECT name FROM queues WHERE @queues::text[] IS NULL OR name = ANY (@queues::text[]))
SELECT DISTINCT u.id, u.updated_at FROM (
  SELECT a.id, a.updated_at FROM q CROSS JOIN LATERAL (
    SELECT t.id, t.updated_at FROM todos t
     WHERE t.queue = q.name AND t.assignee IS NULL AND t.available_at IS NOT NULL AND t.available_at >= @since::timestamptz AND t.available_at <= now()) a
  UNION ALL
  SELECT b.id, b.updated_at FROM q CROSS JOIN LATERAL (
    SELECT t.id, t.updated_at FROM todos t
     WHERE t.queue = q.name AND t.assignee IS NULL AND t.available_at IS NOT NULL AND t.available_at > now()
     ORDER BY t.available_at LIMIT greatest(500, @ahead::int / greatest(1, (SELECT count(*) FROM q)))) b
  UNION ALL
  SELECT t.id, t.updated_at FROM todos t
   WHERE t.assignee IS NOT NULL AND t.available_at IS NOT NULL AND t.available_at >= @since::timestamptz
     AND (@queues::text[] IS NULL OR t.queue = ANY (@queues::text[]))
  UNION ALL
  SELECT d.id, d.updated_at FROM q CROSS JOIN LATERAL (
    SELECT t.id, t.updated_at FROM todos t
     WHERE t.queue = q.name AND t.completed_at IS NOT NULL AND t.completed_at >= @since::timestamptz) d
  UNION ALL
  SELECT t.id, t.updated_at FROM todo_attempts h JOIN todos t ON t.id = h.todo_id
   WHERE h.ended_at >= @since::timestamptz AND (@queues::text[] IS NULL OR t.queue = ANY (@queues::text[]))
  UNION ALL
  SELECT t.id, t.updated_at FROM todos t
   WHERE t.id > @fresh::text AND t.id < @newest::text AND (@queues::text[] IS NULL OR t.queue = ANY (@queues::text[]))) u
 WHERE u.updated_at >= @since::timestamptz
