-- Pauses queues for every claim that starts after the commit, durably, until a time or until resumed.
-- They are read whole before the first is changed: a row that this statement has changed cannot be locked any more.
-- Guard: none; pausing again replaces until, reason and who. Rows are taken in name order. A repetition keeps the first
-- before-image. Index: queues_pkey.
WITH l AS MATERIALIZED (
  SELECT name, to_jsonb(z) AS image FROM queues z WHERE name = ANY (@queues::text[]) ORDER BY name FOR UPDATE),
f AS (
  INSERT INTO queues (name, paused_at, paused_until, paused_by, reason)
  SELECT q.q, now(), now() + @for::interval, @by::text, @reason::text FROM unnest(@queues::text[]) q(q)
   WHERE (SELECT count(*) FROM l) >= 0 ORDER BY q.q
      ON CONFLICT (name) DO UPDATE SET paused_at = now(), paused_until = excluded.paused_until,
         paused_by = excluded.paused_by, reason = excluded.reason
  RETURNING name, paused_at, paused_until, paused_by, reason),
j AS (
  INSERT INTO todo_journal_rows (op, id, updated_at, image)
  SELECT @op::text, f.name, f.paused_at, l.image FROM f LEFT JOIN l ON l.name = f.name
      ON CONFLICT (op, id) DO UPDATE SET updated_at = excluded.updated_at)
SELECT name, paused_at, paused_until, paused_by, reason FROM f
