-- Says whether this server is a standby, and how old what it shows may be: nothing where it has replayed all that a
-- running stream brought, else the age of the last transaction that it replayed, which on an idle primary is too much.
-- Guard: none; changes no row. Index: none.
SELECT pg_is_in_recovery() AS standby,
       extract(epoch FROM CASE
         WHEN NOT pg_is_in_recovery() THEN interval '0'
         WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()
              AND EXISTS (SELECT 1 FROM pg_stat_wal_receiver WHERE status = 'streaming') THEN interval '0'
         ELSE clock_timestamp() - pg_last_xact_replay_timestamp() END)::float8 AS behind
