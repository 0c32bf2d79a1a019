-- Wakes those who wait for one of these names: a queue that has something to claim, or a todo that has ended. With
-- ids, for the queues of these todos as well. It notifies only where somebody waits: NOTIFY serialises commits.
-- Guard: none; changes no row. Index: waiters_pkey; todos_pkey only where somebody waits.
SELECT pg_notify('todoctl', w.name) FROM (
  SELECT DISTINCT name FROM waiters
   WHERE until > now()
     AND (name = ANY (@names::text[]) OR name IN (SELECT t.queue FROM todos t WHERE t.id = ANY (@ids::text[])))) w
