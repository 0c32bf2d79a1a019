-- migrate:up

-- Dead letters in the order in which lists page, whatever their queues: without it a list of them walks the primary key past every
-- todo that was ever done. Written only when a todo dies, so the hot path pays nothing. lease_seq is never negative: a statement
-- that does not say so cannot use this index, so that none is led here by old statistics which has one of its own.
CREATE INDEX idx_todos_dead_id ON todos (id) WHERE state = 'failed' AND available_at IS NULL AND lease_seq >= 0;

-- migrate:down

DROP INDEX idx_todos_dead_id;
