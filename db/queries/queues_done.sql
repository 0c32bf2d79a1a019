-- Counts the done todos of each queue up to a cap, and estimates from the planner's statistics how many todos it has in all.
-- Guard: none; changes no row. Index: idx_todos_ended, one range for each queue.
WITH RECURSIVE names(name) AS (
  (SELECT queue FROM todos WHERE completed_at IS NOT NULL ORDER BY queue LIMIT 1)
  UNION ALL
  SELECT (SELECT queue FROM todos WHERE queue > names.name AND completed_at IS NOT NULL ORDER BY queue LIMIT 1)
    FROM names WHERE names.name IS NOT NULL),
shares AS (
  SELECT v.name, v.share FROM pg_stats s
   CROSS JOIN LATERAL unnest(s.most_common_vals::text::text[], s.most_common_freqs) v(name, share)
   WHERE s.tablename = 'todos' AND s.attname = 'queue'
     AND s.schemaname = (SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = 'todos'::regclass))
SELECT n.name, (SELECT count(*) FROM (SELECT 1 FROM todos WHERE queue = n.name AND completed_at IS NOT NULL
                  ORDER BY completed_at LIMIT @cap::int) c) AS ended,
       ((SELECT reltuples FROM pg_class WHERE oid = 'todos'::regclass) * s.share)::bigint AS estimate
  FROM names n LEFT JOIN shares s ON s.name = n.name
 WHERE n.name IS NOT NULL AND (@queues::text[] IS NULL OR n.name = ANY (@queues::text[]))
