-- migrate:up

-- What ended, queue by queue in the order of time: rates, forecasts and the last trace of a claim are read from its newest end.
-- Entries are only ever added at that end, which costs an ending todo one step on a page that is in memory.
CREATE INDEX idx_todos_ended ON todos (queue, completed_at) WHERE completed_at IS NOT NULL;
-- Leases that ended otherwise than in completion, in the order of time. Completions write no history and pay nothing.
CREATE INDEX idx_attempts_ended ON todo_attempts (ended_at);

-- migrate:down

DROP INDEX idx_attempts_ended;
DROP INDEX idx_todos_ended;
