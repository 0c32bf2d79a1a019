-- Wakes those who wait for the queues of the staged lines, as notify.sql does.
-- Guard: none; changes no row. Index: none; waiters are few.
SELECT pg_notify('todoctl', w.name) FROM (
  SELECT DISTINCT name FROM waiters v
   WHERE v.until > now() AND EXISTS (SELECT 1 FROM todoctl_stage s WHERE s.queue = v.name)) w
