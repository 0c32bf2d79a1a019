-- Counts the live todos of each queue, those that are due apart from those that are due later, and finds the oldest. Of each side and
-- each assignee up to a share of a cap is counted from the end that is due first; where that is met, a quarter as many from the other
-- end say how densely they lie, so that the rest can be estimated. The states are read of fewer, since each is a visit to the table; the last
-- few say what state the rest is in. The caps are higher where the statistics say that little is live.
-- Guard: none; changes no row. Index: idx_todos_pool and idx_todos_assigned, from both ends, for each queue and assignee.
WITH RECURSIVE pool(name) AS (
  (SELECT queue FROM todos WHERE available_at IS NOT NULL AND assignee IS NULL AND @queues::text[] IS NULL ORDER BY queue LIMIT 1)
  UNION ALL
  SELECT (SELECT queue FROM todos WHERE queue > pool.name AND available_at IS NOT NULL AND assignee IS NULL ORDER BY queue LIMIT 1)
    FROM pool WHERE pool.name IS NOT NULL),
own(who, queue) AS (
  (SELECT assignee, queue FROM todos WHERE assignee IS NOT NULL AND available_at IS NOT NULL ORDER BY assignee, queue LIMIT 1)
  UNION ALL
  SELECT n.assignee, n.queue FROM own CROSS JOIN LATERAL (
    SELECT assignee, queue FROM todos WHERE (assignee, queue) > (own.who, own.queue)
       AND assignee IS NOT NULL AND available_at IS NOT NULL ORDER BY assignee, queue LIMIT 1) n),
parts AS MATERIALIZED (
  SELECT name AS queue, NULL::text AS who FROM pool WHERE name IS NOT NULL
  UNION ALL
  SELECT DISTINCT unnest(@queues::text[]), NULL
  UNION ALL
  SELECT queue, who FROM own WHERE @queues::text[] IS NULL OR queue = ANY (@queues::text[])),
few AS (
  SELECT coalesce(sum(reltuples), -1) BETWEEN 0 AND 10000 AS few FROM pg_class WHERE oid IN ('idx_todos_pool'::regclass, 'idx_todos_assigned'::regclass)),
most AS (
  SELECT greatest(@least::int, 10, 10000 / greatest(count(*), 1) + 1) AS n,
         greatest(@least::int, 10, (CASE WHEN (SELECT few FROM few) THEN 10000 ELSE 5000 END) / greatest(count(*), 1) + 1) AS states FROM parts),
sides(due, low, high) AS (
  VALUES (true, '-infinity'::timestamptz, now()), (false, now() + interval '1 microsecond', 'infinity'::timestamptz)),
near AS MATERIALIZED (
  SELECT p.queue, p.who, s.due, s.high, r.* FROM parts p CROSS JOIN sides s CROSS JOIN LATERAL (
    SELECT count(*) AS n, max(x.available_at) AS last, min(x.available_at) AS first, min(x.available_at) FILTER (WHERE isfinite(x.available_at)) AS oldest
      FROM (SELECT * FROM (SELECT available_at FROM todos WHERE p.who IS NULL AND queue = p.queue AND assignee IS NULL
               AND available_at >= s.low AND available_at <= s.high ORDER BY available_at LIMIT (SELECT n FROM most)) a
            UNION ALL
            SELECT * FROM (SELECT available_at FROM todos WHERE assignee = p.who AND queue = p.queue
               AND available_at >= s.low AND available_at <= s.high ORDER BY available_at LIMIT (SELECT n FROM most)) b) x) r
   WHERE r.n > 0)
SELECT b.queue, b.due, b.n, b.n >= (SELECT n FROM most) AS capped, h.pending, h.claimed, h.failed, coalesce(f.mostly, 'pending') AS mostly,
       extract(epoch FROM now() - b.oldest)::float8 AS oldest_seconds, extract(epoch FROM now() - h.lapsed)::float8 AS lapsed_seconds,
       CASE WHEN isfinite(b.first) AND isfinite(f.last) THEN extract(epoch FROM f.last - b.first)::float8 END AS span,
       CASE WHEN isfinite(b.first) AND isfinite(f.last) THEN extract(epoch FROM b.last - b.first + f.last - f.first)::float8 END AS ends
  FROM near b CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE x.state = 'pending') AS pending, count(*) FILTER (WHERE x.state = 'claimed') AS claimed,
           count(*) FILTER (WHERE x.state = 'failed') AS failed, min(x.available_at) FILTER (WHERE isfinite(x.available_at) AND x.state = 'claimed') AS lapsed
      FROM (SELECT * FROM (SELECT state, available_at FROM todos WHERE b.who IS NULL AND queue = b.queue AND assignee IS NULL
               AND available_at >= b.first AND available_at <= b.high ORDER BY available_at LIMIT (SELECT states FROM most)) a
            UNION ALL
            SELECT * FROM (SELECT state, available_at FROM todos WHERE assignee = b.who AND queue = b.queue
               AND available_at >= b.first AND available_at <= b.high ORDER BY available_at LIMIT (SELECT states FROM most)) b) x) h
 CROSS JOIN LATERAL (
    SELECT min(x.available_at) AS first, max(x.available_at) AS last
      FROM (SELECT * FROM (SELECT available_at FROM todos WHERE b.n >= (SELECT n FROM most) AND b.who IS NULL AND queue = b.queue AND assignee IS NULL
               AND available_at >= b.last AND available_at <= b.high ORDER BY available_at DESC LIMIT (SELECT n / 4 + 1 FROM most)) a
            UNION ALL
            SELECT * FROM (SELECT available_at FROM todos WHERE b.n >= (SELECT n FROM most) AND assignee = b.who AND queue = b.queue
               AND available_at >= b.last AND available_at <= b.high ORDER BY available_at DESC LIMIT (SELECT n / 4 + 1 FROM most)) b) x) e
 CROSS JOIN LATERAL (
    SELECT e.first, e.last, mode() WITHIN GROUP (ORDER BY x.state) AS mostly
      FROM (SELECT * FROM (SELECT state FROM todos WHERE b.n > (SELECT states FROM most) AND b.who IS NULL AND queue = b.queue AND assignee IS NULL
               AND available_at >= b.first AND available_at <= b.high ORDER BY available_at DESC LIMIT 5) a
            UNION ALL
            SELECT * FROM (SELECT state FROM todos WHERE b.n > (SELECT states FROM most) AND assignee = b.who AND queue = b.queue
               AND available_at >= b.first AND available_at <= b.high ORDER BY available_at DESC LIMIT 5) b) x) f
