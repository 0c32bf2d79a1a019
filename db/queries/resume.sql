-- Resumes queues; one that is not paused stays as it is.
-- Guard: none. Rows are locked in name order. Index: queues_pkey.
WITH l AS MATERIALIZED (
  SELECT name, paused_at IS NOT NULL AND (paused_until IS NULL OR paused_until > now()) AS was_paused
    FROM queues WHERE name = ANY (@queues::text[]) ORDER BY name FOR UPDATE)
UPDATE queues z SET paused_at = NULL, paused_until = NULL, paused_by = NULL, reason = NULL
  FROM l WHERE z.name = l.name RETURNING z.name, l.was_paused
