-- Lists the leases that still run in some queues.
-- Guard: none; changes no row. Index: idx_todos_pool, idx_todos_assigned.
SELECT t.*, now() AS server_now FROM todos t
 WHERE t.queue = ANY (@queues::text[]) AND t.available_at > now() AND t.state = 'claimed' AND t.assignee IS NULL
UNION ALL
SELECT t.*, now() FROM todos t
 WHERE t.queue = ANY (@queues::text[]) AND t.available_at > now() AND t.state = 'claimed' AND t.assignee IS NOT NULL
