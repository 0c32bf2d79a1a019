-- Counts for each owner how its leases ended within a window: completed, failed, released, or run out, by itself or taken over.
-- Leases that ran out and that nobody has reaped are among them. Of what was completed, and of what ended otherwise, the newest
-- are read up to a cap; where that is met, every count begins where the shortest of these readings does.
-- Guard: none; changes no row. Index: idx_todos_ended, one range for each queue; idx_attempts_ended; idx_todos_pool.
WITH RECURSIVE names(name) AS (
  (SELECT queue FROM todos WHERE completed_at IS NOT NULL ORDER BY queue LIMIT 1)
  UNION ALL
  SELECT (SELECT queue FROM todos WHERE queue > names.name AND completed_at IS NOT NULL ORDER BY queue LIMIT 1)
    FROM names WHERE names.name IS NOT NULL),
pool(name) AS (
  (SELECT queue FROM todos WHERE available_at IS NOT NULL AND assignee IS NULL ORDER BY queue LIMIT 1)
  UNION ALL
  SELECT (SELECT queue FROM todos WHERE queue > pool.name AND available_at IS NOT NULL AND assignee IS NULL ORDER BY queue LIMIT 1)
    FROM pool WHERE pool.name IS NOT NULL),
share AS (SELECT greatest(1000, @cap::int / greatest(count(*), 1)) AS n FROM names),
done AS MATERIALIZED (
  SELECT names.name, d.owner, d.state, d.at FROM names CROSS JOIN LATERAL (
    SELECT owner, state, completed_at AS at FROM todos WHERE queue = names.name AND completed_at >= now() - @window::interval
     ORDER BY completed_at DESC LIMIT (SELECT n FROM share)) d
   WHERE @queues::text[] IS NULL OR names.name = ANY (@queues::text[])),
ended AS MATERIALIZED (
  SELECT todo_id, owner, outcome, ended_at AS at FROM todo_attempts WHERE ended_at >= now() - @window::interval
   ORDER BY ended_at DESC LIMIT @cap::int),
since AS (SELECT greatest(now() - @window::interval, (SELECT CASE WHEN count(*) >= @cap::int THEN min(at) END FROM ended),
    (SELECT max(s.at) FROM (SELECT min(at) AS at FROM done GROUP BY name HAVING count(*) >= (SELECT n FROM share)) s)) AS at),
leases AS (
  SELECT owner, 'completed' AS outcome FROM done WHERE state = 'done' AND at >= (SELECT at FROM since)
  UNION ALL
  SELECT e.owner, e.outcome FROM ended e
   WHERE e.at >= (SELECT at FROM since) AND (@queues::text[] IS NULL OR EXISTS (
     SELECT 1 FROM todos t WHERE t.id = e.todo_id AND t.queue = ANY (@queues::text[])))
  UNION ALL
  SELECT x.owner, 'expired' FROM pool CROSS JOIN LATERAL (
    SELECT owner, state, available_at FROM todos WHERE queue = pool.name AND assignee IS NULL AND available_at <= now()
     ORDER BY available_at DESC LIMIT greatest(50, 5000 / greatest((SELECT count(*) FROM pool), 1))) x
   WHERE x.state = 'claimed' AND x.available_at >= (SELECT at FROM since) AND (@queues::text[] IS NULL OR pool.name = ANY (@queues::text[])))
SELECT owner, count(*) FILTER (WHERE outcome = 'completed') AS completed, count(*) FILTER (WHERE outcome = 'failed') AS failed,
       count(*) FILTER (WHERE outcome = 'released') AS released, count(*) FILTER (WHERE outcome IN ('expired', 'taken over')) AS expired,
       count(*) AS leases, (SELECT at FROM since) AS since, (SELECT at FROM since) > now() - @window::interval AS capped
  FROM leases WHERE owner IS NOT NULL GROUP BY owner
