-- Counts the leases that ran out and that nobody has taken or reaped, up to ten thousand, and finds the oldest.
-- Guard: none; changes no row. Index: idx_todos_pool, one range for each queue.
SELECT count(*)::bigint AS expired, extract(epoch FROM now() - min(l.at))::float8 AS seconds
  FROM (SELECT e.at FROM queues z CROSS JOIN LATERAL (
          SELECT available_at AS at FROM todos WHERE queue = z.name AND assignee IS NULL AND available_at <= now()
             AND state = 'claimed' AND isfinite(available_at) ORDER BY available_at LIMIT 1000) e
         LIMIT 10000) l
