-- Lists the queues and the assignees that have live todos, by skipping from one to the next in the claim's indexes.
-- Guard: none; changes no row. Index: idx_todos_pool, idx_todos_assigned, one probe for each distinct value.
WITH RECURSIVE pool(name) AS (
    (SELECT queue FROM todos WHERE available_at IS NOT NULL AND assignee IS NULL ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT (SELECT queue FROM todos WHERE queue > pool.name AND available_at IS NOT NULL AND assignee IS NULL ORDER BY queue LIMIT 1)
      FROM pool WHERE pool.name IS NOT NULL),
  own(who, queue) AS (
    (SELECT assignee, queue FROM todos WHERE assignee IS NOT NULL AND available_at IS NOT NULL ORDER BY assignee, queue LIMIT 1)
    UNION ALL
    SELECT n.assignee, n.queue FROM own CROSS JOIN LATERAL (
      SELECT assignee, queue FROM todos WHERE (assignee, queue) > (own.who, own.queue)
         AND assignee IS NOT NULL AND available_at IS NOT NULL ORDER BY assignee, queue LIMIT 1) n)
SELECT name AS queue, NULL AS assignee FROM pool WHERE name IS NOT NULL
UNION ALL
SELECT queue, who FROM own
