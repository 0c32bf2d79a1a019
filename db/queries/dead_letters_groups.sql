-- Groups dead letters by what was asked for: the likeness of their errors, kind, queue, or a part of the payload.
-- Every filter is null where it was not given. A sample is the error of the newest todo of its group, read when the groups are made.
-- They are made in two steps, first by queue and kind as well: to collect these for a million rows would sort them.
-- Guard: none; changes no row. Index: idx_todos_dead; idx_todos_fingerprint where one is given; todos_pkey for the samples.
WITH parts AS MATERIALIZED (
SELECT CASE WHEN @by_error::bool THEN t.fingerprint END AS fingerprint, t.kind, t.queue,
       CASE WHEN @path::text[] IS NOT NULL THEN t.payload #>> @path::text[] END AS value,
       count(*) AS count, min(t.completed_at) AS first, max(t.completed_at) AS last, sum(t.attempt) AS attempts, max(t.id) AS newest
  FROM todos t
 WHERE t.state = 'failed' AND t.available_at IS NULL AND @owners::text[] IS NULL
   AND (@queues::text[] IS NULL OR t.queue = ANY (@queues::text[]))
   AND (@kinds::text[] IS NULL OR t.kind = ANY (@kinds::text[]))
   AND (@sources::text[] IS NULL OR t.source = ANY (@sources::text[]))
   AND (@assignees::text[] IS NULL OR t.assignee = ANY (@assignees::text[]))
   AND (@keys::text[] IS NULL OR t.idempotency_key = ANY (@keys::text[]))
   AND (@fingerprints::text[] IS NULL OR t.fingerprint = ANY (@fingerprints::text[]))
   AND (@min_attempt::int IS NULL OR t.attempt >= @min_attempt::int)
   AND (@error::text IS NULL OR t.error ~ @error::text)
   AND (@payload::text IS NULL OR t.payload @> @payload::text::jsonb)
   AND (coalesce(@created_since::timestamptz, now() - @created_since_back::interval) IS NULL OR t.created_at >= coalesce(@created_since::timestamptz, now() - @created_since_back::interval))
   AND (coalesce(@created_until::timestamptz, now() - @created_until_back::interval) IS NULL OR t.created_at < coalesce(@created_until::timestamptz, now() - @created_until_back::interval))
   AND (coalesce(@since::timestamptz, now() - @since_back::interval) IS NULL
        OR coalesce(t.completed_at, t.updated_at) >= coalesce(@since::timestamptz, now() - @since_back::interval))
   AND (coalesce(@until::timestamptz, now() - @until_back::interval) IS NULL
        OR coalesce(t.completed_at, t.updated_at) < coalesce(@until::timestamptz, now() - @until_back::interval))
 GROUP BY 1, 2, 3, 4),
groups AS (
SELECT fingerprint, CASE WHEN @by_kind::bool THEN kind END AS kind, CASE WHEN @by_queue::bool THEN queue END AS queue, value,
       sum(count)::bigint AS count, array_agg(DISTINCT queue)::text[] AS queues, array_agg(DISTINCT kind)::text[] AS kinds,
       min(first) AS first, max(last) AS last, sum(attempts)::bigint AS attempts, max(newest) AS newest
  FROM parts p
 GROUP BY 1, CASE WHEN @by_kind::bool THEN p.kind END, CASE WHEN @by_queue::bool THEN p.queue END, 4
 ORDER BY 5 DESC, 1, 2, 3, 4 LIMIT @groups::int)
SELECT g.fingerprint, g.kind, g.queue, g.value, g.count, g.queues, g.kinds, g.first, g.last, g.attempts,
       (SELECT left(t.error, 500) FROM todos t WHERE t.id = g.newest) AS sample
  FROM groups g ORDER BY 5 DESC, 1, 2, 3, 4
