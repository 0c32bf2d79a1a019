-- Deletes old events that no todo refers to any more.
-- Guard: no todo refers to it. Index: events_pkey, idx_todos_event.
DELETE FROM events e WHERE e.id IN (
  SELECT v.id FROM events v WHERE v.id > @after::text AND v.received_at < now() - @older_than::interval
     AND NOT EXISTS (SELECT 1 FROM todos t WHERE t.event_id = v.id)
   ORDER BY v.id LIMIT @page::int)
RETURNING e.id
