-- Reads the server's clock, the oldest transaction that still writes, and the first that has not begun to.
-- Guard: none; changes no row. Index: none.
SELECT now() AS server_now, pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next
