-- Says which database this is, so that a plan made for one is not applied to another: the cluster by its system identifier,
-- the database, and the schema of the tables.
-- Guard: none; changes no row. Index: none serves it; it reads catalogs.
SELECT (SELECT s.system_identifier::text FROM pg_control_system() s) AS system, current_database()::text AS database, n.nspname::text AS schema
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = 'todos'::regclass
