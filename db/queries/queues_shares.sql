-- Says what the server's statistics know: how many todos there are, how many of them live and dead, and the share of each common queue.
-- Guard: none; changes no row. Index: none of todos; the catalog's.
WITH sizes AS MATERIALIZED (
  SELECT greatest(sum(reltuples) FILTER (WHERE oid = 'todos'::regclass), 0) AS every,
         greatest(sum(reltuples) FILTER (WHERE oid IN ('idx_todos_pool'::regclass, 'idx_todos_assigned'::regclass)), 0) AS live,
         greatest(sum(reltuples) FILTER (WHERE oid = 'idx_todos_dead'::regclass), 0) AS dead
    FROM pg_class WHERE oid IN ('todos'::regclass, 'idx_todos_pool'::regclass, 'idx_todos_assigned'::regclass, 'idx_todos_dead'::regclass))
SELECT z.every::bigint AS every, z.live::bigint AS live, z.dead::bigint AS dead, v.name, coalesce(v.share, 0)::float8 AS share
  FROM sizes z LEFT JOIN (pg_stats s CROSS JOIN LATERAL unnest(s.most_common_vals::text::text[], s.most_common_freqs) v(name, share))
    ON s.tablename = 'todos' AND s.attname = 'queue'
   AND s.schemaname = (SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = 'todos'::regclass)
