-- Lists the queues whose names begin with what was typed, for completion at the shell.
-- Guard: none; changes no row. Index: queues_pkey.
SELECT name FROM queues WHERE starts_with(name, @prefix::text) ORDER BY name LIMIT 50
