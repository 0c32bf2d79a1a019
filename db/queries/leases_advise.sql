-- Measures, from the newest todos that ended, how long work takes in each queue, and how its leases ended otherwise.
-- Each todo is looked up by its id, whatever the statistics say: a join would read all history.
-- Guard: none; changes no row. Index: todos_pkey backwards, todo_attempts_pkey.
WITH newest AS MATERIALIZED (
  SELECT id, queue, state, claimed_at, completed_at FROM todos
   WHERE @queues::text[] IS NULL OR queue = ANY (@queues::text[])
   ORDER BY id DESC LIMIT @rows::int),
ended AS MATERIALIZED (
  SELECT n.queue, a.* FROM newest n CROSS JOIN LATERAL (
    SELECT outcome, claimed_at, ended_at FROM todo_attempts WHERE todo_id = n.id OFFSET 0) a),
ran AS (
  SELECT queue, extract(epoch FROM completed_at - claimed_at)::float8 AS seconds FROM newest
   WHERE state = 'done' AND isfinite(completed_at) AND isfinite(claimed_at)
  UNION ALL
  SELECT a.queue, extract(epoch FROM a.ended_at - a.claimed_at)::float8 FROM ended a
   WHERE a.outcome = 'failed' AND isfinite(a.ended_at) AND isfinite(a.claimed_at)),
lapsed AS (
  SELECT a.queue, count(*)::bigint AS expired,
         percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM a.ended_at - a.claimed_at))::float8 AS noticed
    FROM ended a WHERE a.outcome IN ('expired', 'taken over') GROUP BY a.queue)
SELECT q.queue, count(r.seconds)::bigint AS leases, percentile_cont(0.5) WITHIN GROUP (ORDER BY r.seconds) AS p50,
       percentile_cont(0.99) WITHIN GROUP (ORDER BY r.seconds) AS p99, max(r.seconds) AS longest,
       coalesce(max(l.expired), 0) AS expired, max(l.noticed) AS noticed
  FROM (SELECT DISTINCT queue FROM newest) q LEFT JOIN ran r ON r.queue = q.queue LEFT JOIN lapsed l ON l.queue = q.queue
 GROUP BY q.queue
