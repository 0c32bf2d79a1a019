-- Lists the ids of live todos in the order in which they are due, a page of them, with the place of each: leases keep the place that
-- their todos had, but for those that end later than the first hundred of their queue, which stand where they end. So much is looked at of each queue and
-- assignee; places up to which all of them were looked at are listed, and the last row says how far that is, where it goes on.
-- Every filter is null where it was not given. What is leased is listed whatever the other filters say: it is read by id afterwards.
-- Guard: none; changes no row. Index: idx_todos_pool and idx_todos_assigned, from the place on, for each queue and assignee.
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
parts AS MATERIALIZED (
  SELECT row_number() OVER () AS part, x.* FROM (
    SELECT name AS queue, NULL::text AS who FROM pool WHERE name IS NOT NULL AND @assignees::text[] IS NULL
    UNION ALL
    SELECT queue, who FROM own WHERE @assignees::text[] IS NULL OR who = ANY (@assignees::text[])) x
   WHERE @queues::text[] IS NULL OR x.queue = ANY (@queues::text[])),
bounds AS MATERIALIZED (
  SELECT CASE WHEN @due::bool THEN @after_at::timestamptz ELSE greatest(@after_at::timestamptz, now()) END AS low,
         CASE WHEN @later::bool THEN 'infinity'::timestamptz ELSE now() END AS high),
leases AS MATERIALIZED (
  SELECT r.id, r.run_at AS place FROM parts p CROSS JOIN LATERAL (
    SELECT * FROM (SELECT t.id, t.run_at, t.state FROM todos t WHERE p.who IS NULL AND t.queue = p.queue AND t.assignee IS NULL
       AND t.available_at > now() ORDER BY t.available_at, t.id LIMIT 100) a
    UNION ALL
    SELECT * FROM (SELECT t.id, t.run_at, t.state FROM todos t WHERE t.assignee = p.who AND t.queue = p.queue
       AND t.available_at > now() ORDER BY t.available_at, t.id LIMIT 100) b) r
   WHERE r.state = 'claimed' AND @claimed::bool),
line AS MATERIALIZED (
  SELECT p.part, r.id, r.available_at AS place, coalesce(
     (@conditions::text[] IS NULL OR CASE r.state WHEN 'pending' THEN CASE WHEN r.run_at > now() THEN 'delayed' ELSE 'pending' END
          WHEN 'claimed' THEN CASE WHEN r.lease_expires_at > now() THEN 'claimed' ELSE 'expired' END
          WHEN 'failed' THEN CASE WHEN r.next_retry_at IS NULL THEN 'dead' ELSE 'retrying' END
          ELSE r.state END = ANY (@conditions::text[]))
     AND (@kinds::text[] IS NULL OR r.kind = ANY (@kinds::text[]))
     AND (@sources::text[] IS NULL OR r.source = ANY (@sources::text[]))
     AND (@owners::text[] IS NULL OR r.owner = ANY (@owners::text[]) AND r.state = 'claimed')
     AND (@assignees::text[] IS NULL OR r.assignee = ANY (@assignees::text[]))
     AND (@keys::text[] IS NULL OR r.idempotency_key = ANY (@keys::text[]))
     AND (@fingerprints::text[] IS NULL OR r.fingerprint = ANY (@fingerprints::text[]))
     AND (@min_attempt::int IS NULL OR r.attempt >= @min_attempt::int)
     AND (coalesce(@created_since::timestamptz, now() - @created_since_back::interval) IS NULL OR r.created_at >= coalesce(@created_since::timestamptz, now() - @created_since_back::interval))
     AND (coalesce(@created_until::timestamptz, now() - @created_until_back::interval) IS NULL OR r.created_at < coalesce(@created_until::timestamptz, now() - @created_until_back::interval))
     AND (coalesce(@since::timestamptz, now() - @since_back::interval) IS NULL OR coalesce(CASE r.state
          WHEN 'pending' THEN greatest(r.updated_at, CASE WHEN r.run_at <= now() THEN r.run_at END)
          WHEN 'claimed' THEN CASE WHEN r.lease_expires_at > now() THEN r.claimed_at ELSE r.lease_expires_at END
          ELSE r.completed_at END, r.updated_at) >= coalesce(@since::timestamptz, now() - @since_back::interval))
     AND (coalesce(@until::timestamptz, now() - @until_back::interval) IS NULL OR coalesce(CASE r.state
          WHEN 'pending' THEN greatest(r.updated_at, CASE WHEN r.run_at <= now() THEN r.run_at END)
          WHEN 'claimed' THEN CASE WHEN r.lease_expires_at > now() THEN r.claimed_at ELSE r.lease_expires_at END
          ELSE r.completed_at END, r.updated_at) < coalesce(@until::timestamptz, now() - @until_back::interval))
     AND (@error::text IS NULL OR r.error ~ @error::text)
     AND (@payload::text IS NULL OR r.payload @> @payload::text::jsonb), false) AS matched
    FROM parts p CROSS JOIN LATERAL (
    SELECT * FROM (SELECT t.* FROM todos t WHERE p.who IS NULL AND t.queue = p.queue AND t.assignee IS NULL
       AND t.available_at >= (SELECT low FROM bounds) AND (t.available_at, t.id) > (@after_at::timestamptz, @after_id::text)
       AND t.available_at <= (SELECT high FROM bounds)
     ORDER BY t.available_at, t.id LIMIT @each::int) a
    UNION ALL
    SELECT * FROM (SELECT t.* FROM todos t WHERE t.assignee = p.who AND t.queue = p.queue
       AND t.available_at >= (SELECT low FROM bounds) AND (t.available_at, t.id) > (@after_at::timestamptz, @after_id::text)
       AND t.available_at <= (SELECT high FROM bounds)
     ORDER BY t.available_at, t.id LIMIT @each::int) b) r),
ends AS (
  SELECT (array_agg(place ORDER BY place DESC, id DESC))[1] AS place, (array_agg(id ORDER BY place DESC, id DESC))[1] AS id
    FROM line GROUP BY part HAVING count(*) >= @each::int),
far AS MATERIALIZED (SELECT place, id FROM ends ORDER BY place, id LIMIT 1)
SELECT * FROM (
  SELECT x.id, x.place, false AS far, 0::bigint AS looked FROM (
    SELECT id, place FROM line WHERE matched AND id NOT IN (SELECT id FROM leases)
    UNION ALL
    SELECT id, place FROM leases WHERE (place, id) > (@after_at::timestamptz, @after_id::text)) x
   WHERE NOT EXISTS (SELECT 1 FROM far WHERE (x.place, x.id) > (far.place, far.id))
   ORDER BY x.place, x.id) y
UNION ALL
SELECT id, place, true, (SELECT count(*) FROM line WHERE (line.place, line.id) <= (far.place, far.id)) FROM far
