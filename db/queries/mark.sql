-- Lets the claim that follows in the same transaction begin where an earlier one of these queues found
-- only ended work before it. Whoever wins the update of an outdated mark looks at everything instead: locked
-- by one, the others use it a moment longer and wait for nobody. No row: there is no mark.
-- Guard: none. Index: marks_pkey.
WITH won AS (
  UPDATE marks SET at = now() WHERE ctid = (SELECT ctid FROM marks
     WHERE queues = @queues::text AND at <= now() - @valid::interval FOR UPDATE SKIP LOCKED) RETURNING 1)
SELECT set_config('todoctl.low', CASE WHEN EXISTS (SELECT 1 FROM won) THEN '-infinity'
         ELSE to_char(m.low AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') END, true),
       m.low, EXISTS (SELECT 1 FROM won) AS won
  FROM marks m WHERE m.queues = @queues::text
