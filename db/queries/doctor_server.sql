-- Reads the server's clock, the connections that are left, and the settings that a queue depends on.
-- Guard: none; changes no row. Index: none; reads the server's own views.
SELECT clock_timestamp() AS clock, pg_backend_pid() AS pid, pg_is_in_recovery() AS standby,
       current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most,
       (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend')::int AS used,
       current_setting('autovacuum')::text AS autovacuum, current_setting('track_counts')::text AS track_counts,
       (SELECT setting::int FROM pg_catalog.pg_settings WHERE name = 'work_mem') AS work_mem_kb,
       (SELECT setting::int FROM pg_catalog.pg_settings WHERE name = 'autovacuum_naptime') AS naptime
