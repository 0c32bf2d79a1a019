-- Lists what is due for the reaper: leases that ran out and retries whose backoff is over, in one pass.
-- No ORDER BY with LIMIT: each batch would walk and sort all that is due in the queue again.
-- Guard: none; changes no row. Index: idx_todos_pool, one range for each queue; idx_todos_assigned for the rest.
SELECT p.id, p.state, p.capped FROM unnest(@queues::text[]) q(q)
 CROSS JOIN LATERAL (SELECT id, state, attempt >= max_attempts AS capped FROM todos
   WHERE queue = q.q AND assignee IS NULL AND available_at <= now() AND state IN ('claimed', 'failed') OFFSET 0) p
UNION ALL
SELECT a.id, a.state, a.capped FROM unnest(@assignees::text[]) w(w)
 CROSS JOIN LATERAL (SELECT id, state, attempt >= max_attempts AS capped FROM todos
   WHERE assignee = w.w AND available_at <= now() AND state IN ('claimed', 'failed')
     AND queue = ANY (@queues::text[]) OFFSET 0) a
