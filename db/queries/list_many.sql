-- Says whether more todos are live, in some queues or in all, than are read and sorted to list a few of them.
-- Guard: none; changes no row. Index: idx_todos_pool, idx_todos_assigned.
SELECT (SELECT count(*) FROM (SELECT 1 FROM todos WHERE available_at IS NOT NULL AND assignee IS NULL
          AND (@queues::text[] IS NULL OR queue = ANY (@queues::text[])) LIMIT @page::int) p)
     + (SELECT count(*) FROM (SELECT 1 FROM todos WHERE available_at IS NOT NULL AND assignee IS NOT NULL
          AND (@queues::text[] IS NULL OR queue = ANY (@queues::text[])) LIMIT @page::int) a) >= @page::int AS many
