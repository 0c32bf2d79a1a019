-- Reads the history of one todo: each lease that ended otherwise than in completion.
-- Guard: none; changes no row. Index: todo_attempts_pkey.
SELECT lease_seq, attempt, owner, claimed_at, ended_at, outcome, error, result
  FROM todo_attempts WHERE todo_id = @id::text ORDER BY lease_seq
