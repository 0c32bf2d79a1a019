-- Writes the history of the todos that an import has made.
-- Guard: only those todos. Index: todo_attempts_pkey.
INSERT INTO todo_attempts (todo_id, lease_seq, attempt, owner, claimed_at, ended_at, outcome, error, result)
SELECT s.id, (a ->> 'lease_seq')::int, coalesce((a ->> 'attempt')::int, 0), a ->> 'owner', (a ->> 'claimed_at')::timestamptz,
       coalesce((a ->> 'ended_at')::timestamptz, now()), a ->> 'outcome', a ->> 'error', nullif(a -> 'result', 'null')
  FROM todoctl_stage s
 CROSS JOIN LATERAL jsonb_array_elements(CASE jsonb_typeof(s.payload -> 'history') WHEN 'array' THEN s.payload -> 'history' ELSE '[]' END) a
 WHERE s.live = 'made'
