-- migrate:up

-- Where the next claim of some queues may begin to look. A transaction left open keeps the index
-- entries of all that was completed since, and they lie before what waits: without a mark each claim
-- walks over them. Empty in ordinary life. Not logged, as it is only a hint: losing it costs one slow claim.
CREATE UNLOGGED TABLE marks (
  queues text COLLATE "C" PRIMARY KEY,
  low    timestamptz NOT NULL,
  at     timestamptz NOT NULL
);

-- migrate:down

DROP TABLE marks;
