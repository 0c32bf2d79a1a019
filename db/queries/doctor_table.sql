-- Reads what the server's statistics say of the todos table, and whether its own vacuum settings are in place.
-- Guard: none; changes no row. Index: none; reads the server's own views.
SELECT s.n_live_tup::bigint AS live, s.n_dead_tup::bigint AS dead,
       extract(epoch FROM now() - greatest(s.last_vacuum, s.last_autovacuum))::float8 AS vacuum_seconds,
       extract(epoch FROM now() - greatest(s.last_analyze, s.last_autoanalyze))::float8 AS analyze_seconds,
       coalesce(array_to_string(c.reloptions, ','), '') AS options, s.schemaname::text AS schema
  FROM pg_catalog.pg_stat_user_tables s JOIN pg_catalog.pg_class c ON c.oid = s.relid
 WHERE s.relid = to_regclass('todos')
