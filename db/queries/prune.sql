-- Deletes terminal todos with their history, and counts them in the journal's row of this run.
-- Guard: still terminal under the lock. Index: todos_pkey; todo_attempts_pkey for the cascade.
WITH l AS MATERIALIZED (
  SELECT id FROM todos WHERE id = ANY (@ids::text[]) AND available_at IS NULL ORDER BY id FOR UPDATE SKIP LOCKED),
f AS (
  DELETE FROM todos t USING l WHERE t.id = l.id RETURNING t.id, t.queue),
j AS (
  UPDATE todo_journal j SET matched = j.matched + cardinality(@ids::text[]), changed = j.changed + (SELECT count(*) FROM f),
         queues = ARRAY(SELECT unnest(j.queues) UNION SELECT f.queue FROM f ORDER BY 1) WHERE j.op = @op::text)
SELECT f.id FROM f
