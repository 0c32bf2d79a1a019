-- Lists one page of the todos that a filter matches, in id order. Every filter is null where it was not given.
-- Rows that a filter without an index refuses are passed over, up to so many: looked counts the rows that were read, and the last of
-- them comes back with matched = false, so that the caller can go on from there.
-- Guard: none; changes no row. Index: todos_pkey, in id order; of dead ones idx_todos_dead_id, or idx_todos_dead of one queue and
-- idx_todos_fingerprint of one fingerprint.
SELECT t.id, t.queue, t.source, t.kind, t.title, t.event_id, t.idempotency_key, t.assignee, t.state, t.owner,
       t.lease_expires_at, t.lease_seq, t.attempt, t.max_attempts, t.progress, t.progress_seq, t.error, t.fingerprint, t.next_retry_at, t.run_at,
       t.available_at, t.created_at, t.updated_at, t.claimed_at, t.completed_at,
       CASE WHEN @bodies::bool THEN t.payload END AS payload, CASE WHEN @bodies::bool THEN t.result END AS result,
       now() AS server_now, t.looked, m.matched
  FROM (SELECT t.*, row_number() OVER (ORDER BY t.id) AS looked FROM todos t
         WHERE t.id > @after::text
           AND (@ids::text[] IS NULL OR t.id = ANY (@ids::text[]))
           AND (NOT @dead::bool OR t.state = 'failed' AND t.available_at IS NULL)
           AND (NOT @dead_id::bool OR t.lease_seq >= 0)
           AND (@dead_queue::text IS NULL OR t.queue = @dead_queue::text)
           AND (@dead_fingerprint::text IS NULL OR t.fingerprint = @dead_fingerprint::text)
         ORDER BY t.id LIMIT @look::int) t
 CROSS JOIN LATERAL (
     SELECT coalesce(
            (@queues::text[] IS NULL OR t.queue = ANY (@queues::text[]))
        AND (NOT @live::bool OR t.available_at IS NOT NULL)
        AND (@conditions::text[] IS NULL OR CASE t.state WHEN 'pending' THEN CASE WHEN t.run_at > now() THEN 'delayed' ELSE 'pending' END
             WHEN 'claimed' THEN CASE WHEN t.lease_expires_at > now() THEN 'claimed' ELSE 'expired' END
             WHEN 'failed' THEN CASE WHEN t.next_retry_at IS NULL THEN 'dead' ELSE 'retrying' END
             ELSE t.state END = ANY (@conditions::text[]))
        AND (@kinds::text[] IS NULL OR t.kind = ANY (@kinds::text[]))
        AND (@sources::text[] IS NULL OR t.source = ANY (@sources::text[]))
        AND (@owners::text[] IS NULL OR t.owner = ANY (@owners::text[]) AND t.state = 'claimed')
        AND (@assignees::text[] IS NULL OR t.assignee = ANY (@assignees::text[]))
        AND (@keys::text[] IS NULL OR t.idempotency_key = ANY (@keys::text[]))
        AND (@fingerprints::text[] IS NULL OR t.fingerprint = ANY (@fingerprints::text[]))
        AND (@min_attempt::int IS NULL OR t.attempt >= @min_attempt::int)
        AND (coalesce(@created_since::timestamptz, now() - @created_since_back::interval) IS NULL OR t.created_at >= coalesce(@created_since::timestamptz, now() - @created_since_back::interval))
        AND (coalesce(@created_until::timestamptz, now() - @created_until_back::interval) IS NULL OR t.created_at < coalesce(@created_until::timestamptz, now() - @created_until_back::interval))
        AND (coalesce(@since::timestamptz, now() - @since_back::interval) IS NULL OR coalesce(CASE t.state
             WHEN 'pending' THEN greatest(t.updated_at, CASE WHEN t.run_at <= now() THEN t.run_at END)
             WHEN 'claimed' THEN CASE WHEN t.lease_expires_at > now() THEN t.claimed_at ELSE t.lease_expires_at END
             ELSE t.completed_at END, t.updated_at) >= coalesce(@since::timestamptz, now() - @since_back::interval))
        AND (coalesce(@until::timestamptz, now() - @until_back::interval) IS NULL OR coalesce(CASE t.state
             WHEN 'pending' THEN greatest(t.updated_at, CASE WHEN t.run_at <= now() THEN t.run_at END)
             WHEN 'claimed' THEN CASE WHEN t.lease_expires_at > now() THEN t.claimed_at ELSE t.lease_expires_at END
             ELSE t.completed_at END, t.updated_at) < coalesce(@until::timestamptz, now() - @until_back::interval))
        AND (@error::text IS NULL OR t.error ~ @error::text)
        AND (@payload::text IS NULL OR t.payload @> @payload::text::jsonb), false) AS matched) m
 WHERE m.matched OR t.looked = @look::int
 ORDER BY t.id LIMIT @page::int
