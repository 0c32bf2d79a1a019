-- Stores the raw delivery that a todo comes from; a redelivery finds the first one.
-- Guard: one event for each source and external id. Index: idx_events_external.
INSERT INTO events (id, source, kind, external_id, payload)
VALUES (@event_id::text, @source::text, @kind::text, @external_id::text, @payload::text::jsonb)
    ON CONFLICT (source, external_id) DO NOTHING
