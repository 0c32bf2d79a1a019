-- Brings purged todos back with their history, byte for byte, and notes that it is done.
-- Guard: not undone yet, no todo of this id is there, and its event is. Rows are taken in id order,
-- and one undo of an op works at a time, so the places of its rows hold.
-- Index: todo_journal_rows_pkey, todos_pkey, events_pkey.
WITH l AS MATERIALIZED (
  SELECT r.id, r.place, r.image FROM unnest(@ids::text[]) u(id)
   CROSS JOIN LATERAL (SELECT r.ctid AS place, r.* FROM todo_journal_rows r WHERE r.op = @undoes::text AND r.id = u.id OFFSET 0) r
   WHERE r.undone_by IS NULL AND r.image IS NOT NULL),
f AS (
  INSERT INTO todos (id, queue, source, kind, title, payload, event_id, idempotency_key, assignee, state, owner, lease_expires_at, lease_seq,
         attempt, max_attempts, result, error, fingerprint, progress, progress_seq, next_retry_at, run_at, created_at, updated_at, claimed_at, completed_at)
  SELECT b.id, b.queue, b.source, b.kind, b.title, coalesce(b.payload, 'null'), b.event_id, b.idempotency_key, b.assignee, b.state, b.owner, b.lease_expires_at, b.lease_seq,
         b.attempt, b.max_attempts, CASE WHEN l.image @> '{"json_null": true}' THEN 'null' ELSE b.result END, b.error, b.fingerprint, b.progress, b.progress_seq, b.next_retry_at, b.run_at, b.created_at, b.updated_at,
         b.claimed_at, b.completed_at
    FROM l CROSS JOIN LATERAL jsonb_populate_record(NULL::todos, l.image) b
   WHERE b.event_id IS NULL OR EXISTS (SELECT 1 FROM events e WHERE e.id = b.event_id)
   ORDER BY b.id
      ON CONFLICT (id) DO NOTHING RETURNING id, queue, lease_seq, updated_at),
m AS (
  UPDATE todo_journal_rows r SET undone_by = @op::text
   WHERE r.ctid = ANY (ARRAY(SELECT l.place FROM l WHERE l.id = ANY (ARRAY(SELECT f.id FROM f)))) RETURNING r.history),
h AS (
  INSERT INTO todo_attempts (todo_id, lease_seq, attempt, owner, claimed_at, ended_at, outcome, error, result)
  SELECT a.todo_id, a.lease_seq, a.attempt, a.owner, a.claimed_at, a.ended_at, a.outcome, a.error,
         CASE WHEN v.v @> '{"json_null": true}' THEN 'null' ELSE a.result END
    FROM m CROSS JOIN LATERAL jsonb_array_elements(m.history) v(v) CROSS JOIN LATERAL jsonb_populate_record(NULL::todo_attempts, v.v) a),
j AS (
  INSERT INTO todo_journal_rows (op, id, lease_seq, updated_at) SELECT @op::text, f.id, f.lease_seq, f.updated_at FROM f)
SELECT f.id, f.queue, now() AS server_now FROM f
