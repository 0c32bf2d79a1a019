-- Lists the queues that have dead todos or that an enqueue has named, with what an operator has said of them, and counts their dead
-- todos up to a share of a cap; where that is met, these and the last ids, a quarter as many, say how densely they lie, so that the rest can be estimated.
-- Guard: none; changes no row. Index: idx_todos_dead, one range for each queue; queues_pkey.
WITH RECURSIVE dead(name) AS (
  (SELECT queue FROM todos WHERE state = 'failed' AND available_at IS NULL AND @queues::text[] IS NULL ORDER BY queue LIMIT 1)
  UNION ALL
  SELECT (SELECT queue FROM todos WHERE queue > dead.name AND state = 'failed' AND available_at IS NULL ORDER BY queue LIMIT 1)
    FROM dead WHERE dead.name IS NOT NULL),
every AS MATERIALIZED (
  SELECT name FROM dead WHERE name IS NOT NULL
  UNION SELECT name FROM queues WHERE @queues::text[] IS NULL
  UNION SELECT unnest(@queues::text[])),
most AS (SELECT greatest(@least::int, 10, 10000 / greatest(count(*), 1) + 1) AS n FROM every)
SELECT e.name, z.name IS NOT NULL AS named, coalesce(z.paused_at IS NOT NULL AND (z.paused_until IS NULL OR z.paused_until > now()), false) AS paused,
       z.paused_until, z.paused_by, z.reason, d.n AS dead, d.n >= (SELECT n FROM most) AS capped, ARRAY[d.first, d.last, f.first, f.last] AS ends
  FROM every e LEFT JOIN queues z ON z.name = e.name
 CROSS JOIN LATERAL (
   SELECT count(*) AS n, min(x.id) AS first, max(x.id) AS last FROM (SELECT id FROM todos WHERE queue = e.name AND state = 'failed' AND available_at IS NULL
     ORDER BY id LIMIT (SELECT n FROM most)) x) d
 CROSS JOIN LATERAL (
   SELECT min(x.id) AS first, max(x.id) AS last FROM (SELECT id FROM todos WHERE d.n >= (SELECT n FROM most)
      AND queue = e.name AND state = 'failed' AND available_at IS NULL ORDER BY id DESC LIMIT (SELECT n / 4 + 1 FROM most)) x) f
