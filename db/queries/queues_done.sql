-- Counts the todos of each queue that ended, up to a cap: the done and the dead.
-- Guard: none; changes no row. Index: idx_todos_ended, one range for each queue.
WITH RECURSIVE names(name) AS (
  (SELECT queue FROM todos WHERE completed_at IS NOT NULL AND @queues::text[] IS NULL ORDER BY queue LIMIT 1)
  UNION ALL
  SELECT (SELECT queue FROM todos WHERE queue > names.name AND completed_at IS NOT NULL ORDER BY queue LIMIT 1)
    FROM names WHERE names.name IS NOT NULL),
every AS MATERIALIZED (SELECT name FROM names WHERE name IS NOT NULL UNION SELECT unnest(@queues::text[])),
most AS (SELECT CASE WHEN @exact::bool THEN 2147483647 ELSE least(1000, greatest(100, 10000 / greatest(count(*), 1))) END AS n FROM every)
SELECT e.name, x.n AS ended, x.n >= (SELECT n FROM most) AS capped
  FROM every e CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (SELECT 1 FROM todos WHERE queue = e.name AND completed_at IS NOT NULL
      ORDER BY completed_at LIMIT (SELECT n FROM most)) c) x
 WHERE x.n > 0
