-- Says that somebody no longer waits, and forgets those who went without saying so.
-- Guard: none; rows that another does this for are skipped. Index: none; waiters are few.
DELETE FROM waiters v USING (
  SELECT name, who FROM waiters WHERE who = @who::text OR until < now() - interval '1 hour'
   ORDER BY name, who FOR UPDATE SKIP LOCKED) g
 WHERE v.name = g.name AND v.who = g.who
