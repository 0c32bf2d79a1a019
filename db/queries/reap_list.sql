-- Reads one page of what is due for the reaper, leases that ran out and retries whose backoff is over: of each place, a queue's pool or
-- what is assigned to somebody there, so many rows as a share, and where the next page of it begins, null at its end. A page
-- goes up to the last time of which it holds all rows; where more than a share have one time, through those by id.
-- Guard: none; changes no row. Index: idx_todos_pool, idx_todos_assigned, in order from where the last page ended. OFFSET 0: a
-- walk through the ids of all todos must not seem the shorter way to those of one time.
WITH w AS MATERIALIZED (
  SELECT u.n, u.at AS begun, x.* FROM unnest(@queues::text[], @assignees::text[], @times::text[]::timestamptz[], @ids::text[]) WITH ORDINALITY u(queue, assignee, at, id, n)
   CROSS JOIN LATERAL (
    SELECT * FROM (SELECT * FROM (SELECT t.id, state, attempt >= max_attempts AS capped, available_at FROM todos t WHERE u.assignee IS NULL
        AND t.assignee IS NULL AND t.queue = u.queue AND available_at = u.at AND available_at <= coalesce(@until::text::timestamptz, now()) OFFSET 0) s
      WHERE s.id > u.id ORDER BY s.id LIMIT @share::int) a
    UNION ALL
    SELECT * FROM (SELECT t.id, state, attempt >= max_attempts, available_at FROM todos t WHERE u.assignee IS NULL
        AND t.assignee IS NULL AND t.queue = u.queue AND available_at > u.at AND available_at <= coalesce(@until::text::timestamptz, now())
      ORDER BY available_at LIMIT @share::int) b
    UNION ALL
    SELECT * FROM (SELECT * FROM (SELECT t.id, state, attempt >= max_attempts, available_at FROM todos t
      WHERE t.assignee = u.assignee AND t.queue = u.queue AND available_at = u.at AND available_at <= coalesce(@until::text::timestamptz, now()) OFFSET 0) s
      WHERE s.id > u.id ORDER BY s.id LIMIT @share::int) c
    UNION ALL
    SELECT * FROM (SELECT t.id, state, attempt >= max_attempts, available_at FROM todos t
      WHERE t.assignee = u.assignee AND t.queue = u.queue AND available_at > u.at AND available_at <= coalesce(@until::text::timestamptz, now())
      ORDER BY available_at LIMIT @share::int) d
    LIMIT @share::int) x),
e AS (
  SELECT n, count(*) = @share::int AS more, max(available_at) AS last, max(available_at) = min(begun) AS one, max(id) AS id FROM w GROUP BY n)
SELECT w.n, w.id, w.state, w.capped, NULL::text AS at, NULL::text AS until FROM w JOIN e USING (n)
 WHERE w.state IN ('claimed', 'failed') AND (NOT e.more OR e.one OR w.available_at < e.last)
UNION ALL
SELECT e.n, CASE WHEN e.one THEN e.id ELSE '' END, 'pending', false, e.last::text, coalesce(@until::text, now()::text) FROM e WHERE e.more
