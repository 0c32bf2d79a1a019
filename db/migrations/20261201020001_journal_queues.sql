-- migrate:up

-- The queues that a verb touched, so that the journal of a queue can be read.
ALTER TABLE todo_journal ADD COLUMN queues text[] COLLATE "C" NOT NULL DEFAULT '{}';

-- migrate:down

ALTER TABLE todo_journal DROP COLUMN queues;
