-- Stores the events of the staged todos that are not there yet, under the ids that they have, in the order of the index
-- that decides, so that two imports do not deadlock. The column payload of the stage holds the whole line.
-- Guard: one event for each id, and for each source and external id. Index: events_pkey, idx_events_external, todos_pkey.
INSERT INTO events (id, source, kind, external_id, payload, received_at)
SELECT DISTINCT ON (e.source, e.external_id, e.id) e.id, e.source, e.kind, e.external_id, e.payload, e.received_at
  FROM (SELECT s.payload -> 'event' ->> 'id' AS id, coalesce(s.payload -> 'event' ->> 'source', '') AS source,
               coalesce(s.payload -> 'event' ->> 'kind', '') AS kind, s.payload -> 'event' ->> 'external_id' AS external_id,
               coalesce(s.payload -> 'event' -> 'payload', 'null') AS payload,
               coalesce((s.payload -> 'event' ->> 'received_at')::timestamptz, now()) AS received_at
          FROM todoctl_stage s
         WHERE jsonb_typeof(s.payload -> 'event') = 'object' AND NOT EXISTS (SELECT 1 FROM todos t WHERE t.id = s.id)) e
 ORDER BY e.source, e.external_id, e.id
    ON CONFLICT DO NOTHING
