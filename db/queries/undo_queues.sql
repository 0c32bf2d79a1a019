-- Puts queues back as they were before a pause or a resume, and notes that it is done. A row that the pause made goes again,
-- unless there are todos in its queue by now: then only the pause goes.
-- Guard: paused as the verb left it, and neither paused nor resumed since but for what was undone. Rows are locked in name
-- order. Index: todo_journal_rows_pkey, todo_journal_rows_id, queues_pkey, idx_todos_pool, idx_todos_dead.
WITH l AS MATERIALIZED (
  SELECT r.id, r.image, r.image IS NULL
         AND NOT EXISTS (SELECT 1 FROM todos t WHERE t.queue = r.id AND t.available_at IS NOT NULL AND t.assignee IS NULL)
         AND NOT EXISTS (SELECT 1 FROM todos t WHERE t.queue = r.id AND t.state = 'failed' AND t.available_at IS NULL) AS goes
    FROM todo_journal_rows r JOIN queues z ON z.name = r.id
   WHERE r.op = @undoes::text AND r.id = ANY (@ids::text[]) AND r.undone_by IS NULL AND z.paused_at IS NOT DISTINCT FROM r.updated_at
     AND NOT EXISTS (SELECT 1 FROM todo_journal_rows v JOIN todo_journal j ON j.op = v.op
           WHERE v.id = r.id AND v.undone_by IS NULL AND v.op <> r.op AND j.verb IN ('pause', 'resume')
             AND j.at >= (SELECT o.at FROM todo_journal o WHERE o.op = @undoes::text))
   ORDER BY z.name FOR UPDATE OF z),
f AS (
  UPDATE queues z SET paused_at = b.paused_at, paused_until = b.paused_until, paused_by = b.paused_by, reason = b.reason
    FROM l CROSS JOIN LATERAL jsonb_populate_record(NULL::queues, coalesce(l.image, '{}')) b WHERE z.name = l.id AND NOT l.goes),
d AS (
  DELETE FROM queues z USING l WHERE z.name = l.id AND l.goes),
m AS (
  UPDATE todo_journal_rows r SET undone_by = @op::text FROM l WHERE r.op = @undoes::text AND r.id = l.id),
j AS (
  INSERT INTO todo_journal_rows (op, id) SELECT @op::text, l.id FROM l)
SELECT l.id, l.id AS queue, now() AS server_now FROM l
