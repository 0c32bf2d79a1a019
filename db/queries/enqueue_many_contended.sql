-- Makes todos of the staged lines as enqueue_many.sql does, and waits for whoever takes one of the keys at the same time.
-- Ordered by queue and key, so that two imports of the same keys do not deadlock; the position in run_at keeps first in first out. A transaction does this
-- once, or goes back to before it: keys taken in two goes are in no order.
-- Guard: one live todo for each queue and key. Index: idx_todos_dedupe.
INSERT INTO todos (id, queue, source, kind, title, payload, event_id, idempotency_key, assignee, max_attempts, run_at)
SELECT s.id, s.queue, s.source, s.kind, s.title, s.payload,
       CASE WHEN s.event IS NULL OR s.external_id IS NULL THEN s.event_id
            ELSE (SELECT e.id FROM events e WHERE e.source = s.event_source AND e.external_id = s.external_id) END,
       s.idempotency_key, s.assignee, s.max_attempts,
       coalesce(s.at, (SELECT clock_timestamp()) + coalesce(s.delay, interval '0')) + s.ord * interval '1 microsecond'
  FROM todoctl_stage s
 ORDER BY s.queue, s.idempotency_key, s.ord
    ON CONFLICT (queue, idempotency_key) WHERE idempotency_key IS NOT NULL AND available_at IS NOT NULL DO NOTHING
