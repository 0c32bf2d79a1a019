-- Makes the staged todos as they were exported, unless there is one with the id, or a live one with the key; marks those
-- that it made. Ordered by queue and key, so that two imports do not deadlock. An event that is there under another id,
-- with the same source and external id, is the one that is meant.
-- Guard: one todo for each id, one live todo for each queue and key. Index: todos_pkey, idx_todos_dedupe.
WITH made AS (
  INSERT INTO todos (id, queue, source, kind, title, payload, event_id, idempotency_key, assignee, state, owner, lease_expires_at,
                     lease_seq, attempt, max_attempts, result, error, fingerprint, progress, progress_seq, next_retry_at, run_at,
                     created_at, updated_at, claimed_at, completed_at)
  SELECT s.id, s.queue, coalesce(s.payload ->> 'source', ''), coalesce(s.payload ->> 'kind', ''), coalesce(s.payload ->> 'title', ''),
         coalesce(s.payload -> 'payload', 'null'),
         coalesce((SELECT e.id FROM events e WHERE e.id = s.payload -> 'event' ->> 'id'),
                  (SELECT e.id FROM events e WHERE e.source = coalesce(s.payload -> 'event' ->> 'source', '') AND e.external_id = s.payload -> 'event' ->> 'external_id')),
         s.idempotency_key, s.payload ->> 'assignee', s.payload ->> 'state', s.payload ->> 'owner', (s.payload ->> 'lease_expires_at')::timestamptz,
         coalesce((s.payload ->> 'lease_seq')::int, 0), coalesce((s.payload ->> 'attempt')::int, 0), s.max_attempts,
         nullif(s.payload -> 'result', 'null'), s.payload ->> 'error', s.payload ->> 'fingerprint', (s.payload ->> 'progress')::smallint,
         CASE WHEN s.payload ->> 'progress' IS NOT NULL THEN (s.payload ->> 'lease_seq')::int END, (s.payload ->> 'next_retry_at')::timestamptz,
         coalesce((s.payload ->> 'run_at')::timestamptz, (s.payload ->> 'created_at')::timestamptz, now()),
         coalesce((s.payload ->> 'created_at')::timestamptz, now()),
         coalesce((s.payload ->> 'updated_at')::timestamptz, (s.payload ->> 'created_at')::timestamptz, now()),
         (s.payload ->> 'claimed_at')::timestamptz, (s.payload ->> 'completed_at')::timestamptz
    FROM todoctl_stage s
   ORDER BY s.queue, s.idempotency_key, s.ord
      ON CONFLICT DO NOTHING
  RETURNING id)
UPDATE todoctl_stage s SET live = 'made' FROM made WHERE s.id = made.id
