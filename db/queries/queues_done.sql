-- Counts the todos of each queue that ended, up to a cap: the done and the dead. Where that is met, times from both
-- ends say how densely they lie, so that the rest can be estimated.
-- Guard: none; changes no row. Index: idx_todos_ended, one range for each queue.
WITH RECURSIVE names(name) AS (
  (SELECT queue FROM todos WHERE completed_at IS NOT NULL AND @queues::text[] IS NULL ORDER BY queue LIMIT 1)
  UNION ALL
  SELECT (SELECT queue FROM todos WHERE queue > names.name AND completed_at IS NOT NULL ORDER BY queue LIMIT 1)
    FROM names WHERE names.name IS NOT NULL),
every AS MATERIALIZED (SELECT name FROM names WHERE name IS NOT NULL UNION SELECT unnest(@queues::text[])),
most AS (SELECT CASE WHEN @exact::bool THEN 2147483647 ELSE least(1000, greatest(100, 10000 / greatest(count(*), 1))) END AS n FROM every)
SELECT e.name, x.n AS ended, x.n >= (SELECT n FROM most) AS capped,
       CASE WHEN isfinite(x.first) AND isfinite(f.last) THEN extract(epoch FROM f.last - x.first)::float8 END AS span,
       CASE WHEN isfinite(x.first) AND isfinite(f.last) THEN extract(epoch FROM x.last - x.first + f.last - f.first)::float8 END AS ends
  FROM every e CROSS JOIN LATERAL (
    SELECT count(*) AS n, min(c.completed_at) AS first, max(c.completed_at) AS last FROM (SELECT completed_at FROM todos
      WHERE queue = e.name AND completed_at IS NOT NULL ORDER BY completed_at LIMIT (SELECT n FROM most)) c) x
 CROSS JOIN LATERAL (
    SELECT min(c.completed_at) AS first, max(c.completed_at) AS last FROM (SELECT completed_at FROM todos
      WHERE x.n >= (SELECT n FROM most) AND queue = e.name AND completed_at IS NOT NULL ORDER BY completed_at DESC LIMIT (SELECT n FROM most)) c) f
 WHERE x.n > 0
