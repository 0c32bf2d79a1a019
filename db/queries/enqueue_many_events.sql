-- Stores the raw deliveries of the staged lines, in the order of the index that decides, so that two imports do not deadlock.
-- Guard: one event for each source and external id. Index: idx_events_external.
INSERT INTO events (id, source, kind, external_id, payload)
SELECT event_id, event_source, event_kind, external_id, event FROM todoctl_stage WHERE event IS NOT NULL
 ORDER BY event_source, external_id, ord
    ON CONFLICT (source, external_id) DO NOTHING
