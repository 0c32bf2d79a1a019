-- Lists the ids of the todos that were done since a time, in no order, as long as they are few: see list_few.sql.
-- Dead ones are not read here: one that was made by hand may not say when it died.
-- Guard: none; changes no row. Index: idx_todos_ended, one range for each queue.
WITH RECURSIVE names(name) AS (
  (SELECT queue FROM todos WHERE completed_at IS NOT NULL ORDER BY queue LIMIT 1)
  UNION ALL
  SELECT (SELECT queue FROM todos WHERE queue > names.name AND completed_at IS NOT NULL ORDER BY queue LIMIT 1)
    FROM names WHERE names.name IS NOT NULL)
SELECT e.id FROM names n CROSS JOIN LATERAL (
  SELECT t.id FROM todos t
   WHERE t.queue = n.name AND t.completed_at >= coalesce(@since::timestamptz, now() - @since_back::interval)
     AND t.state = 'done' AND t.id > @after::text LIMIT @page::int) e
 WHERE @queues::text[] IS NULL OR n.name = ANY (@queues::text[])
 LIMIT @page::int
