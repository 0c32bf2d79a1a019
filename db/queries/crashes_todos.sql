-- Lists the todos whose leases ran out most often, of those with one that did within a window: how often, under whom, and whether
-- they ever failed in order. A lease that ran out and that nobody has reaped counts too.
-- Guard: none; changes no row. Index: idx_attempts_ended, then todos_pkey and todo_attempts_pkey for each.
WITH recent AS MATERIALIZED (
  SELECT DISTINCT e.todo_id FROM (SELECT todo_id, outcome FROM todo_attempts WHERE ended_at >= now() - @window::interval
     ORDER BY ended_at DESC LIMIT @cap::int) e WHERE e.outcome IN ('expired', 'taken over'))
SELECT t.id, t.queue, t.kind, t.state = 'failed' AND t.available_at IS NULL AS dead, h.expired, h.owners, h.first, h.last
  FROM recent r JOIN todos t ON t.id = r.todo_id
 CROSS JOIN LATERAL (
   SELECT count(*) FILTER (WHERE a.outcome <> 'failed') AS expired, count(*) FILTER (WHERE a.outcome = 'failed') AS failed,
          min(a.at) FILTER (WHERE a.outcome <> 'failed') AS first, max(a.at) FILTER (WHERE a.outcome <> 'failed') AS last,
          coalesce(array_agg(DISTINCT a.owner) FILTER (WHERE a.outcome <> 'failed' AND a.owner IS NOT NULL), '{}')::text[] AS owners
     FROM (SELECT outcome, ended_at AS at, owner FROM todo_attempts WHERE todo_id = t.id AND outcome IN ('expired', 'taken over', 'failed')
           UNION ALL
           SELECT 'expired', t.available_at, t.owner WHERE t.state = 'claimed' AND t.available_at <= now()) a) h
 WHERE (@queues::text[] IS NULL OR t.queue = ANY (@queues::text[])) AND t.state <> 'done' AND h.failed = 0 AND h.expired >= @least::int
 ORDER BY h.expired DESC, t.id LIMIT 1000
