-- Says where a todo stands, or stood, among those that are due: by its time, or while it is leased and afterwards by the time that it had.
-- Leases that end later than the first hundred of their queue stand where they end: see list_line.sql. Or among those that ended: by
-- when it did.
-- Guard: none; changes no row. Index: todos_pkey, then idx_todos_pool or idx_todos_assigned.
SELECT CASE WHEN @ended::bool THEN coalesce(t.completed_at, t.updated_at)
            WHEN t.state = 'claimed' AND t.available_at > now() AND e.n < 100 THEN t.run_at ELSE coalesce(t.available_at, t.run_at) END AS place
  FROM todos t CROSS JOIN LATERAL (
    SELECT count(*) AS n FROM (
      SELECT * FROM (SELECT 1 FROM todos o WHERE t.assignee IS NULL AND o.queue = t.queue AND o.assignee IS NULL AND o.available_at > now()
         AND o.available_at <= t.available_at AND (o.available_at, o.id) < (t.available_at, t.id) LIMIT 100) p
      UNION ALL
      SELECT * FROM (SELECT 1 FROM todos o WHERE o.assignee = t.assignee AND o.queue = t.queue AND o.available_at > now()
         AND o.available_at <= t.available_at AND (o.available_at, o.id) < (t.available_at, t.id) LIMIT 100) a) x) e
 WHERE t.id = @id::text
