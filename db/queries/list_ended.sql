-- Lists the ids of the todos that were done, or died, since a time, in no order, as long as they are few: see list_few.sql.
-- Guard: none; changes no row. Index: idx_todos_ended, one range for each queue; of dead ones idx_todos_dead_at.
WITH RECURSIVE names(name) AS (
  (SELECT queue FROM todos WHERE @done::bool AND completed_at IS NOT NULL ORDER BY queue LIMIT 1)
  UNION ALL
  SELECT (SELECT queue FROM todos WHERE queue > names.name AND completed_at IS NOT NULL ORDER BY queue LIMIT 1)
    FROM names WHERE names.name IS NOT NULL)
SELECT * FROM (
  SELECT e.id FROM names n CROSS JOIN LATERAL (
    SELECT t.id FROM todos t
     WHERE t.queue = n.name AND t.completed_at >= coalesce(@since::timestamptz, now() - @since_back::interval)
       AND t.state = 'done' LIMIT @page::int) e
   WHERE @queues::text[] IS NULL OR n.name = ANY (@queues::text[])
  UNION ALL
  SELECT d.id FROM todos d
   WHERE @dead::bool AND d.state = 'failed' AND d.available_at IS NULL
     AND coalesce(d.completed_at, d.updated_at) >= coalesce(@since::timestamptz, now() - @since_back::interval)
     AND (@queues::text[] IS NULL OR d.queue = ANY (@queues::text[]))) x
 LIMIT @page::int
