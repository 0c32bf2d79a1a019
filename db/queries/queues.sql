-- Counts for each queue the todos in every live condition and the dead ones, and finds the oldest claimable.
-- Done rows are in none of the indexes that this reads. A time of -infinity, stored by hand, has no age.
-- Guard: none; changes no row. Index: idx_todos_pool, idx_todos_assigned, idx_todos_dead.
WITH live AS (
  SELECT queue, state, run_at, available_at FROM todos WHERE available_at IS NOT NULL AND assignee IS NULL
     AND (@queues::text[] IS NULL OR queue = ANY (@queues::text[]))
  UNION ALL
  SELECT queue, state, run_at, available_at FROM todos WHERE available_at IS NOT NULL AND assignee IS NOT NULL
     AND (@queues::text[] IS NULL OR queue = ANY (@queues::text[]))),
counts AS (
  SELECT queue,
         count(*) FILTER (WHERE state = 'pending' AND run_at <= now()) AS pending,
         count(*) FILTER (WHERE state = 'pending' AND run_at > now()) AS delayed,
         count(*) FILTER (WHERE state = 'claimed' AND available_at > now()) AS claimed,
         count(*) FILTER (WHERE state = 'claimed' AND available_at <= now()) AS expired,
         count(*) FILTER (WHERE state = 'failed') AS retrying,
         0::bigint AS dead,
         min(available_at) FILTER (WHERE available_at <= now() AND isfinite(available_at)) AS oldest,
         min(available_at) FILTER (WHERE available_at <= now() AND isfinite(available_at) AND state = 'claimed') AS oldest_expired
    FROM live GROUP BY queue
  UNION ALL
  SELECT queue, 0, 0, 0, 0, 0, count(*), NULL, NULL FROM todos
   WHERE state = 'failed' AND available_at IS NULL AND (@queues::text[] IS NULL OR queue = ANY (@queues::text[]))
   GROUP BY queue
  UNION ALL
  SELECT name, 0, 0, 0, 0, 0, 0, NULL, NULL FROM queues
   WHERE (@queues::text[] IS NULL OR name = ANY (@queues::text[])))
SELECT c.queue, sum(c.pending)::bigint AS pending, sum(c.delayed)::bigint AS delayed, sum(c.claimed)::bigint AS claimed,
       sum(c.expired)::bigint AS expired, sum(c.retrying)::bigint AS retrying, sum(c.dead)::bigint AS dead,
       extract(epoch FROM now() - min(c.oldest))::float8 AS oldest_seconds,
       extract(epoch FROM now() - min(c.oldest_expired))::float8 AS oldest_expired_seconds,
       bool_or(z.paused_at IS NOT NULL AND (z.paused_until IS NULL OR z.paused_until > now())) AS paused,
       min(z.paused_until) AS paused_until, min(z.paused_by) AS paused_by, min(z.reason) AS reason
  FROM counts c LEFT JOIN queues z ON z.name = c.queue
 GROUP BY c.queue
