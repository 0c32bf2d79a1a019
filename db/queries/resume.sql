-- Resumes queues; one that is not paused stays as it is.
-- Guard: none. Rows are locked in name order. A repetition keeps the first before-image. Index: queues_pkey.
WITH l AS MATERIALIZED (
  SELECT name, to_jsonb(z) AS image, paused_at IS NOT NULL AND (paused_until IS NULL OR paused_until > now()) AS was_paused
    FROM queues z WHERE name = ANY (@queues::text[]) ORDER BY name FOR UPDATE),
f AS (
  UPDATE queues z SET paused_at = NULL, paused_until = NULL, paused_by = NULL, reason = NULL
    FROM l WHERE z.name = l.name RETURNING z.name, l.was_paused, l.image),
j AS (
  INSERT INTO todo_journal_rows (op, id, image)
  SELECT @op::text, f.name, f.image FROM f WHERE f.was_paused ON CONFLICT (op, id) DO NOTHING)
SELECT name, was_paused FROM f
