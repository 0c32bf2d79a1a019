-- Remembers the names of the staged lines' queues: only those that are new, in order, so that it takes no lock in ordinary life.
-- Guard: none. Index: queues_pkey.
INSERT INTO queues (name)
SELECT DISTINCT s.queue FROM todoctl_stage s
 WHERE NOT EXISTS (SELECT 1 FROM queues z WHERE z.name = s.queue)
 ORDER BY s.queue
    ON CONFLICT (name) DO NOTHING
