-- Reads the live todo that has a key: what a duplicate enqueue returns.
-- Guard: none; changes no row. Index: idx_todos_dedupe.
SELECT t.*, now() AS server_now FROM todos t
 WHERE t.queue = @queue::text AND t.idempotency_key = @key::text AND t.available_at IS NOT NULL
