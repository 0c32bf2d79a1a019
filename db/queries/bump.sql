-- Moves pending todos forward, by a duration or to the front of their queue.
-- Guard: pending. Index: todos_pkey; for the front, idx_todos_pool, one probe.
WITH l AS MATERIALIZED (
  SELECT id, to_jsonb(o) - '{payload,result,available_at}'::text[] AS image FROM todos o
   WHERE id = ANY (@ids::text[]) AND state = 'pending' ORDER BY id FOR UPDATE),
f AS (
  UPDATE todos t SET updated_at = greatest(now(), t.updated_at + interval '1 microsecond'),
         run_at = CASE WHEN @front::bool THEN
             least(t.run_at, now(), (SELECT h.available_at FROM todos h WHERE h.queue = t.queue AND h.assignee IS NULL
                AND h.available_at IS NOT NULL ORDER BY h.available_at LIMIT 1)) - interval '1 microsecond'
           ELSE t.run_at - @by::interval END
    FROM l WHERE t.id = l.id RETURNING t, l.image),
j AS (
  INSERT INTO todo_journal_rows (op, id, lease_seq, updated_at, image)
  SELECT @op::text, (f.t).id, (f.t).lease_seq, (f.t).updated_at, f.image FROM f)
SELECT (f.t).*, now() AS server_now FROM f
