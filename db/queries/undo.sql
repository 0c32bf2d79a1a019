-- Puts todos back as they were before a verb of an operator, with the history of a lease that it ended, and notes that it
-- is done. Payload, event, kind and title are nothing that such a verb changes.
-- Guard: the row is as the verb left it, by lease_seq and updated_at, and not undone yet; a dead one that is to live again
-- has its key reserved. One undo of an op works at a time, so the places of its rows hold. Index: todo_journal_rows_pkey, todos_pkey.
WITH l AS MATERIALIZED (
  SELECT t.id, r.place, r.image FROM unnest(@ids::text[]) u(id)
   CROSS JOIN LATERAL (SELECT r.ctid AS place, r.* FROM todo_journal_rows r WHERE r.op = @undoes::text AND r.id = u.id OFFSET 0) r
    JOIN todos t ON t.id = r.id
   WHERE r.undone_by IS NULL AND r.image IS NOT NULL
     AND t.lease_seq = r.lease_seq AND t.updated_at = r.updated_at
     AND (t.available_at IS NOT NULL OR t.idempotency_key IS NULL OR t.id = ANY (@reserved::text[]))
   ORDER BY t.id FOR UPDATE OF t),
f AS (
  UPDATE todos t SET state = b.state, owner = b.owner, lease_expires_at = b.lease_expires_at, attempt = b.attempt, max_attempts = b.max_attempts,
         result = CASE WHEN l.image @> '{"json_null": true}' THEN 'null' WHEN l.image ? 'result' THEN b.result ELSE t.result END, error = b.error, fingerprint = b.fingerprint,
         next_retry_at = b.next_retry_at, run_at = b.run_at, updated_at = b.updated_at, claimed_at = b.claimed_at, completed_at = b.completed_at
    FROM l CROSS JOIN LATERAL jsonb_populate_record(NULL::todos, l.image) b WHERE t.id = l.id RETURNING t),
h AS (
  DELETE FROM todo_attempts a USING l
   WHERE l.image ->> 'state' = 'claimed' AND a.todo_id = l.id AND a.lease_seq = (l.image ->> 'lease_seq')::int),
m AS (
  UPDATE todo_journal_rows r SET undone_by = @op::text WHERE r.ctid = ANY (ARRAY(SELECT l.place FROM l))),
j AS (
  INSERT INTO todo_journal_rows (op, id, lease_seq, updated_at) SELECT @op::text, (f.t).id, (f.t).lease_seq, (f.t).updated_at FROM f)
SELECT (f.t).*, now() AS server_now FROM f
