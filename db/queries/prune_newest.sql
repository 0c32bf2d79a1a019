-- Finds for each queue and state the newest terminal todo that retention does not keep when it keeps the newest n.
-- Guard: none; changes no row. Index: none serves it; it reads the terminal rows once.
SELECT queue, state, completed_at::text, id FROM (
  SELECT queue, state, completed_at, id,
         row_number() OVER (PARTITION BY queue, state ORDER BY completed_at DESC NULLS LAST, id DESC) AS place
    FROM todos WHERE available_at IS NULL AND state = ANY (@states::text[])
     AND (@queues::text[] IS NULL OR queue = ANY (@queues::text[]))) r
 WHERE place = @keep::bigint + 1
