-- Lists the todos at their attempt cap among the first thousand due ones of some queues, so that a claim that met
-- some can bury a whole run of them at once instead of one answer after the other. What is paused is left alone.
-- Guard: none; changes no row. Index: idx_todos_pool and idx_todos_assigned, in order.
SELECT w.id FROM unnest(@queues::text[]) q(q)
 CROSS JOIN LATERAL (
   SELECT * FROM (SELECT id, attempt, max_attempts FROM todos
      WHERE queue = q.q AND assignee IS NULL AND available_at <= now() ORDER BY available_at LIMIT 1000) p
   UNION ALL
   SELECT * FROM (SELECT id, attempt, max_attempts FROM todos
      WHERE queue = q.q AND assignee = @owner::text AND available_at <= now() ORDER BY available_at LIMIT 1000) a) w
 WHERE w.attempt >= w.max_attempts
   AND NOT EXISTS (SELECT 1 FROM queues z WHERE z.name = q.q
                      AND z.paused_at IS NOT NULL AND (z.paused_until IS NULL OR z.paused_until > now()))
