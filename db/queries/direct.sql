-- Says which process serves this session. A pooler tells its clients a number of its own instead.
-- Guard: none; changes no row. Index: none; it reads no table.
SELECT pg_backend_pid()
