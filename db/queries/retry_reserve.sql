-- Takes the keys of dead letters that are to live again, in key order and in the very index that decides, without an
-- error: the newer of two with one key, and none whose key a live todo holds. The rows are gone before anybody sees
-- them (retry_unreserve.sql, same transaction), yet hold others off until the commit.
-- Guard: dead. Index: todos_pkey, idx_todos_dedupe.
INSERT INTO todos (id, queue, idempotency_key, run_at)
SELECT 'rsv:' || id, queue, idempotency_key, 'infinity' FROM todos
 WHERE id = ANY (@ids::text[]) AND state = 'failed' AND next_retry_at IS NULL AND idempotency_key IS NOT NULL
 ORDER BY queue, idempotency_key, id DESC
    ON CONFLICT (queue, idempotency_key) WHERE idempotency_key IS NOT NULL AND available_at IS NOT NULL DO NOTHING
RETURNING substr(id, 5) AS id
