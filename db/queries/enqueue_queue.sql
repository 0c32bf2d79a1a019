-- Remembers the names of queues. It writes only for a name that is new, so it takes no lock in ordinary life.
-- Guard: none. Names are taken in order. Index: queues_pkey.
INSERT INTO queues (name)
SELECT n.name FROM unnest(@queues::text[]) n(name)
 WHERE NOT EXISTS (SELECT 1 FROM queues z WHERE z.name = n.name)
 ORDER BY n.name
    ON CONFLICT (name) DO NOTHING
