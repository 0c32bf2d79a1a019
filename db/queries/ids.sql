-- Lists live and dead todo ids that begin with what was typed, for completion at the shell.
-- Guard: none; changes no row. Index: todos_pkey.
SELECT id, queue, state, title FROM todos
 WHERE id >= @prefix::text AND id < @prefix::text || U&'\FFFF' AND (available_at IS NOT NULL OR state = 'failed')
 ORDER BY id DESC LIMIT 50
