-- Drops staged lines that were found to be bad.
-- Guard: none. Index: none.
DELETE FROM todoctl_stage WHERE ord = ANY (@ords::int[])
