-- Lists what holds back vacuum in this database: open snapshots and transactions, prepared transactions, replication
-- slots, and standbys that send feedback; the oldest first.
-- Guard: none; changes no row. Index: none; reads the server's own views. What the role may not see comes without its query.
SELECT kind, name, who, application, state, seconds, xids FROM (
  SELECT 'transaction' AS kind, a.pid::text AS name, coalesce(a.usename, '')::text AS who, coalesce(a.application_name, '') AS application,
         coalesce(a.state, '') AS state, extract(epoch FROM now() - coalesce(a.xact_start, a.query_start))::float8 AS seconds,
         greatest(age(a.backend_xmin), age(a.backend_xid))::bigint AS xids
    FROM pg_catalog.pg_stat_activity a
   WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
     AND a.backend_type = 'client backend'
  UNION ALL
  SELECT 'prepared transaction', p.gid, p.owner, '', 'prepared', extract(epoch FROM now() - p.prepared)::float8, age(p.transaction)::bigint
    FROM pg_catalog.pg_prepared_xacts p WHERE p.database = current_database()
  UNION ALL
  SELECT 'replication slot', s.slot_name, coalesce(s.plugin, s.slot_type), '', CASE WHEN s.active THEN 'active' ELSE 'inactive' END, NULL,
         greatest(age(s.xmin), age(s.catalog_xmin))::bigint
    FROM pg_catalog.pg_replication_slots s WHERE s.xmin IS NOT NULL OR s.catalog_xmin IS NOT NULL
  UNION ALL
  SELECT 'standby feedback', coalesce(r.client_addr::text, r.pid::text), r.usename, r.application_name, r.state, NULL, age(r.backend_xmin)::bigint
    FROM pg_catalog.pg_stat_replication r WHERE r.backend_xmin IS NOT NULL) h
 ORDER BY seconds DESC NULLS LAST, xids DESC NULLS LAST LIMIT 20
