-- Lists who holds leases: how many run and how many ran out unreaped, in which queues, which ends next, and the last trace, which is
-- a claim, a renewal or a report of progress. Of each queue those that end next and those that ran out last are read, mixed
-- with delayed and pending todos, up to a share of a cap.
-- Guard: none; changes no row. Index: idx_todos_pool and idx_todos_assigned, from now in both directions, for each queue and assignee.
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
       AND assignee IS NOT NULL AND available_at IS NOT NULL ORDER BY assignee, queue LIMIT 1) n),
parts AS (
  SELECT name AS queue, NULL::text AS who FROM pool WHERE name IS NOT NULL AND (@queues::text[] IS NULL OR name = ANY (@queues::text[]))
  UNION ALL
  SELECT queue, who FROM own WHERE @queues::text[] IS NULL OR queue = ANY (@queues::text[])),
share AS (SELECT greatest(25, @cap::int / greatest(2 * count(*), 1)) AS n FROM parts),
seen AS MATERIALIZED (
  SELECT p.queue, p.who, 1 AS side, r.* FROM parts p CROSS JOIN LATERAL (
    SELECT id, state, owner, available_at AS ends, greatest(claimed_at, updated_at) AS trace FROM todos
     WHERE p.who IS NULL AND queue = p.queue AND assignee IS NULL AND available_at > now() ORDER BY available_at LIMIT (SELECT n FROM share)) r
  UNION ALL
  SELECT p.queue, p.who, 2, r.* FROM parts p CROSS JOIN LATERAL (
    SELECT id, state, owner, available_at, greatest(claimed_at, updated_at) FROM todos
     WHERE p.who IS NULL AND queue = p.queue AND assignee IS NULL AND available_at <= now() ORDER BY available_at DESC LIMIT (SELECT n FROM share)) r
  UNION ALL
  SELECT p.queue, p.who, 3, r.* FROM parts p CROSS JOIN LATERAL (
    SELECT id, state, owner, available_at, greatest(claimed_at, updated_at) FROM todos
     WHERE assignee = p.who AND queue = p.queue AND available_at > now() ORDER BY available_at LIMIT (SELECT n FROM share)) r
  UNION ALL
  SELECT p.queue, p.who, 4, r.* FROM parts p CROSS JOIN LATERAL (
    SELECT id, state, owner, available_at, greatest(claimed_at, updated_at) FROM todos
     WHERE assignee = p.who AND queue = p.queue AND available_at <= now() ORDER BY available_at DESC LIMIT (SELECT n FROM share)) r)
SELECT o.*, x.short
  FROM (SELECT EXISTS (SELECT 1 FROM seen GROUP BY queue, who, side HAVING count(*) >= (SELECT n FROM share)) AS short) x
  LEFT JOIN (
    SELECT s.owner, count(*) FILTER (WHERE s.ends > now()) AS leases, count(*) FILTER (WHERE s.ends <= now()) AS expired,
           array_agg(DISTINCT s.queue)::text[] AS queues, max(s.trace) AS last,
           min(s.ends) FILTER (WHERE s.ends > now()) AS next_at,
           (array_agg(s.id ORDER BY s.ends, s.id) FILTER (WHERE s.ends > now()))[1] AS next_id
      FROM seen s WHERE s.state = 'claimed' AND s.owner IS NOT NULL GROUP BY s.owner) o ON true
