-- Measures for each queue over a window that ends now: how fast todos come in and end, how many leases failed or ran out, and how
-- long todos waited and work took. The newest todos, the newest that ended in each queue and the newest ended leases are read up to
-- a cap; where it is met, the rate is that of the shorter time which these rows cover.
-- Guard: none; changes no row. Index: todos_pkey backwards; idx_todos_ended backwards, one range for each queue; idx_attempts_ended.
WITH RECURSIVE names(name) AS (
  (SELECT queue FROM todos WHERE completed_at IS NOT NULL ORDER BY queue LIMIT 1)
  UNION ALL
  SELECT (SELECT queue FROM todos WHERE queue > names.name AND completed_at IS NOT NULL ORDER BY queue LIMIT 1)
    FROM names WHERE names.name IS NOT NULL),
share AS (SELECT greatest(1000, @cap::int / greatest(count(*), 1)) AS n FROM names),
ended AS MATERIALIZED (
  SELECT names.name, d.* FROM names CROSS JOIN LATERAL (
    SELECT state, completed_at AS at, claimed_at, greatest(run_at, created_at) AS due FROM todos
     WHERE queue = names.name AND completed_at >= now() - @window::interval AND completed_at <= now()
     ORDER BY completed_at DESC LIMIT (SELECT n FROM share)) d
   WHERE @queues::text[] IS NULL OR names.name = ANY (@queues::text[])),
outs AS (
  SELECT name, count(*) >= (SELECT n FROM share) AS capped, count(*) FILTER (WHERE state = 'done') AS done, count(*) AS n,
         greatest(now() - @window::interval, CASE WHEN count(*) >= (SELECT n FROM share) THEN min(at) END) AS since,
         percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY greatest(0, extract(epoch FROM claimed_at - due)::float8))
           FILTER (WHERE state = 'done' AND isfinite(claimed_at) AND isfinite(due)) AS waited,
         percentile_cont(ARRAY[0.5, 0.95]) WITHIN GROUP (ORDER BY extract(epoch FROM at - claimed_at)::float8)
           FILTER (WHERE state = 'done' AND isfinite(claimed_at)) AS ran
    FROM ended GROUP BY name),
newest AS MATERIALIZED (SELECT queue, created_at FROM todos ORDER BY id DESC LIMIT @cap::int),
covered AS (
  SELECT count(*) >= @cap::int AND min(created_at) > now() - @window::interval AS capped,
         greatest(now() - @window::interval, CASE WHEN count(*) >= @cap::int THEN min(created_at) END) AS since FROM newest),
ins AS (SELECT queue AS name, count(*) AS n FROM newest WHERE created_at >= (SELECT since FROM covered) GROUP BY queue),
leases AS MATERIALIZED (
  SELECT todo_id, outcome, ended_at AS at FROM todo_attempts WHERE ended_at >= now() - @window::interval ORDER BY ended_at DESC LIMIT @cap::int),
ends AS (
  SELECT count(*) >= @cap::int AS capped, greatest(now() - @window::interval, CASE WHEN count(*) >= @cap::int THEN min(at) END) AS since FROM leases),
bad AS (
  SELECT t.queue AS name, count(*) AS n FROM leases a JOIN todos t ON t.id = a.todo_id
   WHERE a.outcome IN ('failed', 'expired', 'taken over') GROUP BY t.queue),
every AS (SELECT name FROM outs UNION SELECT name FROM ins UNION SELECT name FROM bad)
SELECT e.name, coalesce(i.n, 0) / c.seconds AS comes, coalesce(o.n, 0) / coalesce(o.seconds, w.seconds) AS goes,
       coalesce(o.done, 0) / coalesce(o.seconds, w.seconds) AS done, coalesce(b.n, 0) / f.seconds AS bad,
       o.waited[1], o.waited[2], o.ran[1], o.ran[2], v.capped OR x.capped OR coalesce(o.capped, false) AS capped
  FROM every e
  LEFT JOIN (SELECT *, greatest(0.001, extract(epoch FROM now() - since)::float8) AS seconds FROM outs) o ON o.name = e.name
  LEFT JOIN ins i ON i.name = e.name
  LEFT JOIN bad b ON b.name = e.name
 CROSS JOIN covered v CROSS JOIN ends x
 CROSS JOIN LATERAL (SELECT greatest(0.001, extract(epoch FROM now() - v.since)::float8) AS seconds) c
 CROSS JOIN LATERAL (SELECT greatest(0.001, extract(epoch FROM now() - x.since)::float8) AS seconds) f
 CROSS JOIN LATERAL (SELECT greatest(0.001, extract(epoch FROM @window::interval)::float8) AS seconds) w
 WHERE @queues::text[] IS NULL OR e.name = ANY (@queues::text[])
