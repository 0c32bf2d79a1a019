-- Groups dead letters by what was asked for: the likeness of their errors, kind, queue, or a part of the payload.
-- Every filter is null where it was not given. A sample is the newest error of its group.
-- Guard: none; changes no row. Index: idx_todos_dead; idx_todos_fingerprint where one is given.
SELECT CASE WHEN @by_error::bool THEN t.fingerprint END AS fingerprint,
       CASE WHEN @by_kind::bool THEN t.kind END AS kind,
       CASE WHEN @by_queue::bool THEN t.queue END AS queue,
       CASE WHEN @path::text[] IS NOT NULL THEN t.payload #>> @path::text[] END AS value,
       count(*)::bigint AS count, array_agg(DISTINCT t.queue)::text[] AS queues, array_agg(DISTINCT t.kind)::text[] AS kinds,
       min(t.completed_at) AS first, max(t.completed_at) AS last, sum(t.attempt)::bigint AS attempts,
       (max(ARRAY[to_char(t.completed_at, 'YYYYMMDDHH24MISSUS'), left(t.error, 500)]))[2] AS sample
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
 GROUP BY 1, 2, 3, 4
 ORDER BY 5 DESC, 1, 2, 3, 4 LIMIT @groups::int
