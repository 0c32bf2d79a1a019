-- Makes todos of the staged lines, of those with one key the first, unless a live one has it. Ordered by queue and key,
-- so that two imports of the same keys do not deadlock; the position in run_at keeps first in first out in spite of that.
-- A key that another transaction takes meanwhile is an error, after which enqueue_many_contended.sql does it: an insert that
-- must be ready for that, with ON CONFLICT, costs the server half as much again.
-- Guard: one live todo for each queue and key. Index: idx_todos_dedupe, one probe for each line that has a key.
INSERT INTO todos (id, queue, source, kind, title, payload, event_id, idempotency_key, assignee, max_attempts, run_at)
SELECT s.id, s.queue, s.source, s.kind, s.title, s.payload,
       CASE WHEN s.event IS NULL OR s.external_id IS NULL THEN s.event_id
            ELSE (SELECT e.id FROM events e WHERE e.source = s.event_source AND e.external_id = s.external_id) END,
       s.idempotency_key, s.assignee, s.max_attempts,
       coalesce(s.at, (SELECT clock_timestamp()) + coalesce(s.delay, interval '0')) + s.ord * interval '1 microsecond'
  FROM (SELECT DISTINCT ON (queue, idempotency_key, alone) * FROM (
          SELECT *, CASE WHEN idempotency_key IS NULL THEN ord END AS alone FROM todoctl_stage) a
         ORDER BY queue, idempotency_key, alone, ord) s
 WHERE s.idempotency_key IS NULL
    OR (SELECT v.id FROM todos v WHERE v.queue = s.queue AND v.idempotency_key = s.idempotency_key AND v.available_at IS NOT NULL) IS NULL
 ORDER BY s.queue, s.idempotency_key, s.alone, s.ord
