-- Makes one todo, unless a live one has its key. It remembers the name of a queue that is new, and notifies where
-- somebody waits for the queue, but one transaction at a time: NOTIFY serialises commits, flush included. Whoever passes
-- over it because another is about to ring is found by the look that follows a ring some time later.
-- Guard: one live todo for each queue and key. Index: idx_todos_dedupe, queues_pkey, waiters_pkey.
WITH t AS (
  INSERT INTO todos (id, queue, source, kind, title, payload, event_id, idempotency_key, assignee, max_attempts, run_at)
  VALUES (@id::text, @queue::text, @source::text, @kind::text, @title::text, @payload::text::jsonb,
          coalesce((SELECT e.id FROM events e WHERE e.source = @event_source::text AND e.external_id = @external_id::text), @event_id::text),
          @key::text, @assignee::text, @max_attempts::int,
          coalesce(@at::timestamptz, clock_timestamp() + coalesce(@delay::interval, interval '0')))
      ON CONFLICT (queue, idempotency_key) WHERE idempotency_key IS NOT NULL AND available_at IS NOT NULL DO NOTHING
  RETURNING *, clock_timestamp() AS server_now),
q AS (INSERT INTO queues (name) SELECT @queue::text WHERE NOT EXISTS (SELECT 1 FROM queues z WHERE z.name = @queue::text)
      ON CONFLICT (name) DO NOTHING)
SELECT t.*, CASE WHEN EXISTS (SELECT 1 FROM waiters w WHERE w.name = @queue::text AND w.until > now())
            THEN CASE WHEN pg_try_advisory_xact_lock(hashtext('todoctl'), hashtext(@queue::text))
            THEN pg_notify('todoctl', @queue::text)::text END END AS told FROM t
