-- Finds the last trace of an owner: in the leases of what is assigned to it, and in the newest todos and ended leases.
-- Guard: none; changes no row. Index: idx_todos_assigned, todos_pkey backwards, idx_attempts_ended backwards.
SELECT max(x.at) AS seen, now() AS server_now FROM (
  SELECT greatest(a.claimed_at, CASE WHEN a.state = 'claimed' THEN a.updated_at END) AS at FROM (SELECT owner, claimed_at, state, updated_at FROM todos
     WHERE assignee = @owner::text AND available_at IS NOT NULL ORDER BY queue, available_at LIMIT 1000) a WHERE a.owner = @owner::text
  UNION ALL
  SELECT greatest(n.claimed_at, n.completed_at, CASE WHEN n.state = 'claimed' THEN n.updated_at END) FROM (SELECT owner, claimed_at, completed_at, state, updated_at FROM todos
     ORDER BY id DESC LIMIT @cap::int) n WHERE n.owner = @owner::text
  UNION ALL
  SELECT h.ended_at FROM (SELECT owner, ended_at, outcome FROM todo_attempts ORDER BY ended_at DESC LIMIT @cap::int) h
   WHERE h.owner = @owner::text AND h.outcome IN ('failed', 'released')) x
 WHERE isfinite(x.at)
