-- Reads one event.
-- Guard: none; changes no row. Index: events_pkey.
SELECT id, source, kind, external_id, payload, received_at FROM events WHERE id = @id::text
