-- Makes one todo, unless a live one has its key.
-- Guard: one live todo for each queue and key. Index: idx_todos_dedupe.
INSERT INTO todos (id, queue, source, kind, title, payload, event_id, idempotency_key, assignee, max_attempts, run_at)
VALUES (@id::text, @queue::text, @source::text, @kind::text, @title::text, @payload::text::jsonb,
        coalesce((SELECT e.id FROM events e WHERE e.source = @event_source::text AND e.external_id = @external_id::text), @event_id::text),
        @key::text, @assignee::text, @max_attempts::int,
        coalesce(@at::timestamptz, clock_timestamp() + coalesce(@delay::interval, interval '0')))
    ON CONFLICT (queue, idempotency_key) WHERE idempotency_key IS NOT NULL AND available_at IS NOT NULL DO NOTHING
RETURNING *, clock_timestamp() AS server_now
