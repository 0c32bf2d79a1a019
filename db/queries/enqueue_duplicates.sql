-- Finds for each staged line that made no todo the live one that stood in its way, or that did just before; none where
-- one came and went between the two looks.
-- Guard: none; changes no row. Index: todos_pkey, idx_todos_dedupe.
SELECT s.ord, coalesce(v.id, s.live) AS id FROM todoctl_stage s
  LEFT JOIN todos v ON v.queue = s.queue AND v.idempotency_key = s.idempotency_key AND v.available_at IS NOT NULL
 WHERE s.idempotency_key IS NOT NULL AND NOT EXISTS (SELECT 1 FROM todos t WHERE t.id = s.id)
