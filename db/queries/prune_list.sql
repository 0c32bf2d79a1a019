-- Reads one page of terminal todos in id order and says of each whether retention takes it: it ended long enough
-- ago, and where the newest of each queue and state are kept, it is at or below the newest that is not.
-- Guard: none; changes no row. Index: todos_pkey. Ids are made in order of creation, so the oldest come first.
SELECT t.id,
       t.state = ANY (@states::text[]) AND (@queues::text[] IS NULL OR t.queue = ANY (@queues::text[]))
       AND coalesce(t.completed_at < now() - @older_than::interval, true)
       AND (@keep::bigint = 0 OR EXISTS (
             SELECT 1 FROM unnest(@kept_queues::text[], @kept_states::text[], @kept_at::text[]::timestamptz[], @kept_ids::text[]) k(queue, state, at, id)
              WHERE k.queue = t.queue AND k.state = t.state
                AND (coalesce(t.completed_at, '-infinity'), t.id) <= (coalesce(k.at, '-infinity'), k.id))) AS take
  FROM todos t
 WHERE t.id > @after::text AND t.available_at IS NULL
 ORDER BY t.id LIMIT @page::int
