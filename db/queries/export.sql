-- Reads todos that a filter matches with their history and event, in id order, in the one snapshot of this statement.
-- Every filter is null where it was not given. Rows that the filters without an index (error, payload) refuse come back
-- with matched = false and without their bodies, so that the caller can count what was read.
-- Guard: none; changes no row. Index: todos_pkey, in id order, of dead ones idx_todos_dead_id; todo_attempts_pkey and events_pkey for each row.
SELECT t.id, t.queue, t.source, t.kind, t.title, t.event_id, t.idempotency_key, t.assignee, t.state, t.owner,
       t.lease_expires_at, t.lease_seq, t.attempt, t.max_attempts, t.progress, t.progress_seq, t.error, t.fingerprint, t.next_retry_at, t.run_at,
       t.available_at, t.created_at, t.updated_at, t.claimed_at, t.completed_at,
       now() AS server_now, m.matched,
       CASE WHEN m.matched THEN t.payload END AS payload, CASE WHEN m.matched THEN t.result END AS result,
       CASE WHEN m.matched THEN (
         SELECT json_agg(json_build_object('lease_seq', a.lease_seq, 'attempt', a.attempt, 'owner', a.owner, 'claimed_at', a.claimed_at,
                  'ended_at', a.ended_at, 'outcome', a.outcome, 'error', a.error, 'result', a.result) ORDER BY a.lease_seq)
           FROM todo_attempts a WHERE a.todo_id = t.id) END::text AS history,
       CASE WHEN m.matched THEN (
         SELECT json_build_object('id', e.id, 'source', e.source, 'kind', e.kind, 'external_id', e.external_id, 'payload', e.payload,
                  'received_at', e.received_at)
           FROM events e WHERE e.id = t.event_id) END::text AS event
  FROM todos t
 CROSS JOIN LATERAL (
   SELECT (@error::text IS NULL OR coalesce(t.error ~ @error::text, false))
      AND (@payload::text IS NULL OR t.payload @> @payload::text::jsonb) AS matched) m
 WHERE t.id > @after::text
   AND (@ids::text[] IS NULL OR t.id = ANY (@ids::text[]))
   AND (@queues::text[] IS NULL OR t.queue = ANY (@queues::text[]))
   AND (NOT @live::bool OR t.available_at IS NOT NULL)
   AND (NOT @dead::bool OR t.state = 'failed' AND t.available_at IS NULL AND t.lease_seq >= 0)
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
 ORDER BY t.id LIMIT @page::bigint
