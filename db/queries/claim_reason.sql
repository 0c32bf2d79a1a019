-- Says for each queue why a claim found nothing: paused, waiting for a time, assigned to others, leased, or not known at all.
-- Guard: none; changes no row. Index: idx_todos_pool, idx_todos_assigned (one probe for each assignee), idx_todos_dead.
SELECT q.q AS queue,
       EXISTS (SELECT 1 FROM queues z WHERE z.name = q.q AND z.paused_at IS NOT NULL AND (z.paused_until IS NULL OR z.paused_until > now())) AS paused,
       (SELECT f.available_at FROM (SELECT available_at, state FROM todos
           WHERE queue = q.q AND assignee IS NULL AND available_at > now() ORDER BY available_at LIMIT 1000) f
         WHERE f.state <> 'claimed' LIMIT 1) AS next_at,
       EXISTS (SELECT 1 FROM (
         WITH RECURSIVE who(name) AS (
           (SELECT assignee FROM todos WHERE assignee IS NOT NULL AND available_at IS NOT NULL ORDER BY assignee LIMIT 1)
           UNION ALL
           SELECT (SELECT assignee FROM todos WHERE assignee > who.name AND available_at IS NOT NULL ORDER BY assignee LIMIT 1)
             FROM who WHERE who.name IS NOT NULL)
         SELECT 1 FROM who CROSS JOIN LATERAL (SELECT 1 FROM todos a
            WHERE a.assignee = who.name AND a.queue = q.q AND a.available_at <= now() LIMIT 1) a
          WHERE who.name <> @owner::text) w) AS assigned,
       EXISTS (SELECT 1 FROM queues z WHERE z.name = q.q)
         OR EXISTS (SELECT 1 FROM todos WHERE queue = q.q AND assignee IS NULL AND available_at IS NOT NULL)
         OR (SELECT true FROM todos WHERE queue = q.q AND state = 'failed' AND available_at IS NULL ORDER BY id LIMIT 1) IS NOT NULL AS known
  FROM unnest(@queues::text[]) q(q)
