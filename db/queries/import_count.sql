-- Counts the staged todos that are there already, and those whose key a live todo has.
-- Guard: none; changes no row. Index: todos_pkey, idx_todos_dedupe.
SELECT count(*) FILTER (WHERE t.id IS NOT NULL)::bigint AS existing,
       count(*) FILTER (WHERE t.id IS NULL AND v.id IS NOT NULL)::bigint AS superseded
  FROM todoctl_stage s
  LEFT JOIN todos t ON t.id = s.id
  LEFT JOIN todos v ON v.queue = s.queue AND v.idempotency_key = s.idempotency_key AND v.available_at IS NOT NULL
                   AND (s.payload ->> 'state' IN ('pending', 'claimed') OR s.payload ->> 'next_retry_at' IS NOT NULL)
 WHERE s.live IS NULL
