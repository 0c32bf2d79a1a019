-- Forgets a mark: a look at everything was quick again.
-- Guard: nobody has renewed it meanwhile. Index: marks_pkey.
DELETE FROM marks WHERE ctid = (SELECT ctid FROM marks WHERE queues = @queues::text AND low <= @low::timestamptz FOR UPDATE SKIP LOCKED)
