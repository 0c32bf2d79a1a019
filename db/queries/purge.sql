-- Deletes dead letters with their history, and keeps both in the journal. It says dead in words that no index of dead
-- letters has: by id is quicker. json_null tells a result that is null in JSON from none.
-- Guard: still dead under the lock. Index: todos_pkey, todo_attempts_pkey.
WITH l AS MATERIALIZED (
  SELECT id, lease_seq, updated_at, (to_jsonb(o) - 'available_at') || jsonb_build_object('json_null', o.result = 'null') AS image,
         (SELECT jsonb_agg(to_jsonb(a) || jsonb_build_object('json_null', a.result = 'null') ORDER BY a.lease_seq) FROM todo_attempts a WHERE a.todo_id = o.id) AS history
    FROM todos o WHERE id = ANY (@ids::text[]) AND state = 'failed' AND next_retry_at IS NULL ORDER BY id FOR UPDATE),
f AS (
  DELETE FROM todos t USING l WHERE t.id = l.id RETURNING t.id, t.queue, l.lease_seq, l.updated_at, l.image, l.history),
j AS (
  INSERT INTO todo_journal_rows (op, id, lease_seq, updated_at, image, history)
  SELECT @op::text, f.id, f.lease_seq, f.updated_at, f.image, f.history FROM f)
SELECT f.id, f.queue, now() AS server_now FROM f
