-- Says of queues how old the oldest todo of the pool is that could be claimed, null where there is none, and whether the
-- caller has todos of his own anywhere: where the next claims need look.
-- Guard: queue not paused; due; assignee null. Index: idx_todos_pool and idx_todos_assigned, one probe each.
SELECT q.q, p.at, EXISTS (SELECT 1 FROM todos WHERE assignee = @owner::text AND available_at IS NOT NULL) AS own
  FROM unnest(@queues::text[]) q(q)
  LEFT JOIN LATERAL (SELECT available_at AS at FROM todos WHERE assignee IS NULL AND queue = q.q AND available_at <= now()
     AND available_at >= coalesce(nullif(current_setting('todoctl.low', true), ''), '-infinity')::timestamptz ORDER BY available_at LIMIT 1) p
    ON NOT EXISTS (SELECT 1 FROM queues z WHERE z.name = q.q
                      AND z.paused_at IS NOT NULL AND (z.paused_until IS NULL OR z.paused_until > now()))
