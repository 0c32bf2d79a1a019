-- Reads a todo with what decides whether a claim of it by an owner would get it: the pause of its queue, the live todo that
-- holds its key, how often its leases ended and how, and how many due todos such a claimer is given before it.
-- Of these at most so many are looked at; those that are leased or have no attempts left do not count.
-- Guard: none; changes no row. Index: todos_pkey, queues_pkey, idx_todos_dedupe, todo_attempts_pkey, idx_todos_pool, idx_todos_assigned.
SELECT t.*, now() AS server_now,
       coalesce(z.paused_at IS NOT NULL AND (z.paused_until IS NULL OR z.paused_until > now()), false) AS paused,
       z.paused_until, z.paused_by, z.reason, z.paused_at,
       CASE WHEN t.available_at IS NULL AND t.idempotency_key IS NOT NULL THEN
         (SELECT v.id FROM todos v WHERE v.queue = t.queue AND v.idempotency_key = t.idempotency_key
             AND v.available_at IS NOT NULL) END AS live_id,
       e.released, e.said, a.ahead, a.looked
  FROM todos t
  LEFT JOIN queues z ON z.name = t.queue
 CROSS JOIN LATERAL (
   SELECT count(*) FILTER (WHERE h.outcome = 'released') AS released,
          (array_agg(h.error ORDER BY h.lease_seq DESC) FILTER (WHERE h.outcome = 'released'))[1] AS said
     FROM (SELECT outcome, error, lease_seq FROM todo_attempts WHERE todo_id = t.id ORDER BY lease_seq DESC LIMIT 20) h) e
 CROSS JOIN LATERAL (
   SELECT count(*) FILTER (WHERE f.healthy AND (f.state <> 'claimed' OR f.available_at <= now())) AS ahead, count(*) AS looked FROM (
     SELECT * FROM (SELECT state, available_at, attempt < max_attempts AS healthy FROM todos o WHERE o.queue = t.queue AND o.assignee IS NULL AND t.assignee IS NULL
         AND o.available_at < t.available_at ORDER BY o.available_at LIMIT @cap::int) p
     UNION ALL
     SELECT * FROM (SELECT state, available_at, attempt < max_attempts AS healthy FROM todos o WHERE o.assignee = @owner::text AND o.queue = t.queue
         AND o.available_at < CASE WHEN t.assignee IS NULL THEN greatest(t.available_at, now()) ELSE t.available_at END
       ORDER BY o.available_at LIMIT @cap::int) m) f) a
 WHERE t.id = @id::text
