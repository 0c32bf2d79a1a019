-- Lists the ids of the live todos that hold one of some idempotency keys: at most one for each key in each queue.
-- Guard: none; changes no row. Index: idx_todos_dedupe, one probe for each queue and key.
WITH RECURSIVE names(name) AS (
  (SELECT queue FROM todos WHERE idempotency_key IS NOT NULL AND available_at IS NOT NULL ORDER BY queue LIMIT 1)
  UNION ALL
  SELECT (SELECT queue FROM todos WHERE queue > names.name AND idempotency_key IS NOT NULL AND available_at IS NOT NULL ORDER BY queue LIMIT 1)
    FROM names WHERE names.name IS NOT NULL)
SELECT t.id FROM names n CROSS JOIN unnest(@keys::text[]) k(k) CROSS JOIN LATERAL (
  SELECT id FROM todos WHERE queue = n.name AND idempotency_key = k.k AND available_at IS NOT NULL) t
 WHERE n.name IS NOT NULL AND (@queues::text[] IS NULL OR n.name = ANY (@queues::text[])) AND t.id > @after::text
 LIMIT @page::int
