-- Says what a todo that a guarded statement did not touch looks like now, and how the lease in question ended.
-- A statement of its own: the one that missed has an older snapshot, in which a row just completed still reads as claimed.
-- Guard: none; changes no row. Index: todos_pkey, todo_attempts_pkey.
SELECT t.*, now() AS server_now, a.outcome AS ended_as, a.owner AS ended_owner,
       EXISTS (SELECT 1 FROM queues z WHERE z.name = t.queue AND z.paused_at IS NOT NULL
                 AND (z.paused_until IS NULL OR z.paused_until > now())) AS paused,
       CASE WHEN t.available_at IS NULL AND t.idempotency_key IS NOT NULL THEN
         (SELECT v.id FROM todos v WHERE v.queue = t.queue AND v.idempotency_key = t.idempotency_key
             AND v.available_at IS NOT NULL) END AS live_id
  FROM unnest(@ids::text[], @seqs::int[]) u(id, seq)
  CROSS JOIN LATERAL (SELECT * FROM todos WHERE id = u.id OFFSET 0) t
  LEFT JOIN LATERAL (SELECT outcome, owner FROM todo_attempts
     WHERE todo_id = u.id AND (u.seq IS NULL OR lease_seq = u.seq) ORDER BY lease_seq DESC LIMIT 1) a ON true
