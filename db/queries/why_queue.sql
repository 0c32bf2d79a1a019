-- Says of a queue what a claim by an owner would find: pause, what is due for it, what is due for others, what waits for a
-- time, what is leased and until when, whether the queue is known at all, and when somebody last claimed from it.
-- Due todos, leases and traces are looked at up to a cap; due counts those with attempts left.
-- Guard: none; changes no row. Index: queues_pkey, idx_todos_pool, idx_todos_assigned (one probe for each assignee), idx_todos_dead,
-- idx_todos_ended and idx_attempts_ended backwards.
WITH RECURSIVE who(name) AS (
  (SELECT assignee FROM todos WHERE assignee IS NOT NULL AND available_at IS NOT NULL ORDER BY assignee LIMIT 1)
  UNION ALL
  SELECT (SELECT assignee FROM todos WHERE assignee > who.name AND available_at IS NOT NULL ORDER BY assignee LIMIT 1)
    FROM who WHERE who.name IS NOT NULL),
due AS (
  SELECT * FROM (SELECT available_at, attempt < max_attempts AS healthy FROM todos WHERE assignee = @owner::text AND queue = @queue::text
     AND available_at <= now() ORDER BY available_at LIMIT @cap::int) a
  UNION ALL
  SELECT * FROM (SELECT available_at, attempt < max_attempts FROM todos WHERE assignee IS NULL AND queue = @queue::text
     AND available_at <= now() ORDER BY available_at LIMIT @cap::int) p),
later AS (
  SELECT * FROM (SELECT state, available_at, claimed_at FROM todos WHERE assignee = @owner::text AND queue = @queue::text
     AND available_at > now() ORDER BY available_at LIMIT @cap::int) a
  UNION ALL
  SELECT * FROM (SELECT state, available_at, claimed_at FROM todos WHERE assignee IS NULL AND queue = @queue::text
     AND available_at > now() ORDER BY available_at LIMIT @cap::int) p),
others AS (
  SELECT who.name FROM who CROSS JOIN LATERAL (SELECT 1 FROM todos a
     WHERE a.assignee = who.name AND a.queue = @queue::text AND a.available_at <= now() LIMIT 1) a
   WHERE who.name <> @owner::text ORDER BY who.name LIMIT 1),
traces AS (
  SELECT claimed_at FROM later WHERE state = 'claimed'
  UNION ALL
  SELECT * FROM (SELECT claimed_at FROM todos WHERE queue = @queue::text AND completed_at IS NOT NULL ORDER BY completed_at DESC LIMIT 100) e
  UNION ALL
  SELECT h.claimed_at FROM (SELECT todo_id, claimed_at FROM todo_attempts ORDER BY ended_at DESC LIMIT 1000) h
    JOIN todos t ON t.id = h.todo_id AND t.queue = @queue::text)
SELECT now() AS server_now,
       coalesce(z.paused_at IS NOT NULL AND (z.paused_until IS NULL OR z.paused_until > now()), false) AS paused,
       z.paused_until, z.paused_by, z.reason, z.paused_at,
       (SELECT count(*) FILTER (WHERE healthy) FROM due) AS due, (SELECT count(*) FILTER (WHERE NOT healthy) FROM due) AS capped,
       (SELECT min(available_at) FILTER (WHERE healthy AND isfinite(available_at)) FROM due) AS oldest,
       (SELECT min(available_at) FILTER (WHERE state <> 'claimed') FROM later) AS next_at,
       (SELECT count(*) FILTER (WHERE state = 'claimed') FROM later) AS leased,
       (SELECT min(available_at) FILTER (WHERE state = 'claimed') FROM later) AS lease_ends,
       (SELECT name FROM others) AS assigned_to,
       z.name IS NOT NULL
         OR EXISTS (SELECT 1 FROM todos WHERE queue = @queue::text AND assignee IS NULL AND available_at IS NOT NULL)
         OR (SELECT true FROM todos WHERE queue = @queue::text AND completed_at IS NOT NULL ORDER BY completed_at LIMIT 1) IS NOT NULL
         OR (SELECT true FROM todos WHERE queue = @queue::text AND state = 'failed' AND available_at IS NULL ORDER BY id LIMIT 1) IS NOT NULL AS known,
       (SELECT max(claimed_at) FROM traces WHERE isfinite(claimed_at)) AS last_claim
  FROM (SELECT 1) one LEFT JOIN queues z ON z.name = @queue::text
