-- Reads the leases of these todos that ended since a moment otherwise than in completion.
-- Guard: none; changes no row. Index: todo_attempts_pkey.
SELECT todo_id, lease_seq, attempt, owner, claimed_at, ended_at, outcome, error
  FROM todo_attempts WHERE todo_id = ANY (@ids::text[]) AND ended_at >= @since::timestamptz
 ORDER BY todo_id, lease_seq
