-- Reads todos by id.
-- Guard: none; changes no row. Index: todos_pkey.
SELECT t.*, now() AS server_now FROM todos t WHERE t.id = ANY (@ids::text[])
