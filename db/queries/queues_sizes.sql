-- Says what the server's statistics know: how many todos there are, and how many of them are live and dead.
-- Guard: none; changes no row. Index: none of todos; the catalog's.
SELECT greatest(sum(reltuples) FILTER (WHERE oid = 'todos'::regclass), 0)::bigint AS every,
       greatest(sum(reltuples) FILTER (WHERE oid IN ('idx_todos_pool'::regclass, 'idx_todos_assigned'::regclass)), 0)::bigint AS live,
       greatest(sum(reltuples) FILTER (WHERE oid = 'idx_todos_dead'::regclass), 0)::bigint AS dead
  FROM pg_class WHERE oid IN ('todos'::regclass, 'idx_todos_pool'::regclass, 'idx_todos_assigned'::regclass, 'idx_todos_dead'::regclass)
