-- Names the staged lines whose event id names no event, and gives back their text where it was staged too.
-- Guard: none; changes no row. Index: events_pkey.
SELECT s.ord, s.event_id, s.raw FROM todoctl_stage s
 WHERE s.event IS NULL AND s.event_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM events e WHERE e.id = s.event_id)
 ORDER BY s.ord
