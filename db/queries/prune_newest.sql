-- Finds the moment before which the n newest terminal todos of each queue and state ended: what prune keeps.
-- Guard: none; changes no row. Index: none serves it; it reads the terminal rows once.
SELECT queue, state, completed_at FROM (
  SELECT queue, state, completed_at, row_number() OVER (PARTITION BY queue, state ORDER BY completed_at DESC NULLS LAST, id DESC) AS place
    FROM todos WHERE available_at IS NULL AND state = ANY (@states::text[])
     AND (@queues::text[] IS NULL OR queue = ANY (@queues::text[]))) r
 WHERE place = @keep::bigint + 1
