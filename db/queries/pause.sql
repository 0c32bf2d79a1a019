-- Pauses queues for every claim that starts after the commit, durably, until a time or until resumed.
-- Guard: none; pausing again replaces until, reason and who. Rows are taken in name order. Index: queues_pkey.
INSERT INTO queues (name, paused_at, paused_until, paused_by, reason)
SELECT q.q, now(), now() + @for::interval, @by::text, @reason::text FROM unnest(@queues::text[]) q(q) ORDER BY q.q
    ON CONFLICT (name) DO UPDATE SET paused_at = now(), paused_until = excluded.paused_until,
       paused_by = excluded.paused_by, reason = excluded.reason
RETURNING name, paused_at, paused_until, paused_by, reason
