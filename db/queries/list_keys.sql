-- Lists the ids of the todos that have one of some idempotency keys, in no order, as long as they are few: see list_few.sql. At most
-- one of each key in each queue is live.
-- Guard: none; changes no row. Index: idx_todos_dedupe, one probe for each queue and key; idx_todos_key, one for each key.
WITH RECURSIVE names(name) AS (
  (SELECT queue FROM todos WHERE @live::bool AND idempotency_key IS NOT NULL AND available_at IS NOT NULL ORDER BY queue LIMIT 1)
  UNION ALL
  SELECT (SELECT queue FROM todos WHERE queue > names.name AND idempotency_key IS NOT NULL AND available_at IS NOT NULL ORDER BY queue LIMIT 1)
    FROM names WHERE names.name IS NOT NULL)
SELECT * FROM (
  SELECT t.id FROM names n CROSS JOIN unnest(@keys::text[]) k(k) CROSS JOIN LATERAL (
    SELECT id FROM todos WHERE queue = n.name AND idempotency_key = k.k AND available_at IS NOT NULL) t
   WHERE n.name IS NOT NULL AND (@queues::text[] IS NULL OR n.name = ANY (@queues::text[]))
  UNION ALL
  SELECT t.id FROM unnest(@keys::text[]) k(k) CROSS JOIN LATERAL (
    SELECT id, queue FROM todos WHERE @ended::bool AND idempotency_key = k.k AND idempotency_key IS NOT NULL AND available_at IS NULL) t
   WHERE @queues::text[] IS NULL OR t.queue = ANY (@queues::text[])) x
 LIMIT @page::int
