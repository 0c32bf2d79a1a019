-- migrate:up

-- What arrived: the record of a delivery, kept apart from the work that it caused.
CREATE TABLE events (
  id          text COLLATE "C" PRIMARY KEY DEFAULT 'ev_' || gen_random_uuid(),
  source      text COLLATE "C" NOT NULL DEFAULT '' CHECK (octet_length(source) <= 1024),
  kind        text NOT NULL DEFAULT '',
  external_id text COLLATE "C" CHECK (octet_length(external_id) BETWEEN 1 AND 1024),
  payload     jsonb NOT NULL DEFAULT 'null',
  received_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX idx_events_external ON events (source, external_id);

-- The work. A row is claimable when available_at <= now(), whatever its state; available_at is
-- null exactly when the row is terminal, so done and dead rows are in neither scan index.
CREATE TABLE todos (
  id               text COLLATE "C" PRIMARY KEY DEFAULT 'td_' || gen_random_uuid(),
  queue            text COLLATE "C" NOT NULL,
  source           text NOT NULL DEFAULT '',
  kind             text NOT NULL DEFAULT '',
  title            text NOT NULL DEFAULT '',
  payload          jsonb NOT NULL DEFAULT 'null',
  event_id         text COLLATE "C" REFERENCES events (id),
  idempotency_key  text COLLATE "C",
  assignee         text COLLATE "C",
  state            text NOT NULL DEFAULT 'pending',
  owner            text COLLATE "C",
  lease_expires_at timestamptz,
  lease_seq        integer NOT NULL DEFAULT 0,
  attempt          integer NOT NULL DEFAULT 0,
  max_attempts     integer NOT NULL DEFAULT 5,
  result           jsonb,
  error            text,
  fingerprint      text COLLATE "C",
  progress         smallint,
  progress_seq     integer,
  next_retry_at    timestamptz,
  run_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
  available_at     timestamptz GENERATED ALWAYS AS (
                     CASE state WHEN 'pending' THEN run_at
                                WHEN 'claimed' THEN lease_expires_at
                                WHEN 'failed'  THEN next_retry_at END) STORED,
  created_at       timestamptz NOT NULL DEFAULT now(),
  updated_at       timestamptz NOT NULL DEFAULT now(),
  claimed_at       timestamptz,
  completed_at     timestamptz,
  CONSTRAINT todos_queue_size    CHECK (octet_length(queue) BETWEEN 1 AND 128),
  CONSTRAINT todos_key_size      CHECK (octet_length(idempotency_key) BETWEEN 1 AND 1024),
  CONSTRAINT todos_owner_size    CHECK (octet_length(owner) BETWEEN 1 AND 255),
  CONSTRAINT todos_assignee_size CHECK (octet_length(assignee) BETWEEN 1 AND 255),
  CONSTRAINT todos_state         CHECK (state IN ('pending', 'claimed', 'done', 'failed')),
  CONSTRAINT todos_lease         CHECK ((state = 'claimed') = (lease_expires_at IS NOT NULL)),
  CONSTRAINT todos_holder        CHECK (state <> 'claimed' OR owner IS NOT NULL),
  CONSTRAINT todos_retry         CHECK (state = 'failed' OR next_retry_at IS NULL),
  CONSTRAINT todos_done          CHECK (state <> 'done' OR completed_at IS NOT NULL),
  CONSTRAINT todos_max_attempts  CHECK (max_attempts >= 1),
  CONSTRAINT todos_attempt       CHECK (attempt BETWEEN 0 AND max_attempts),
  CONSTRAINT todos_lease_seq     CHECK (lease_seq >= 0),
  CONSTRAINT todos_progress      CHECK (progress BETWEEN 0 AND 100)
) WITH (
  -- Every transition leaves a dead row version and a dead index entry at the head of the pool
  -- index, where each claim starts. Vacuum must come long before the default fifth of the table.
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_insert_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.02,
  autovacuum_analyze_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0
);

-- The claim's scan. A row is in one of these two, so that todos assigned to others cost nobody a step.
CREATE INDEX idx_todos_pool ON todos (queue, available_at)
  WHERE available_at IS NOT NULL AND assignee IS NULL;
CREATE INDEX idx_todos_assigned ON todos (assignee, queue, available_at)
  WHERE available_at IS NOT NULL AND assignee IS NOT NULL;
-- One live todo for each key. ON CONFLICT repeats this predicate word for word, or finds no index.
CREATE UNIQUE INDEX idx_todos_dedupe ON todos (queue, idempotency_key)
  WHERE idempotency_key IS NOT NULL AND available_at IS NOT NULL;
-- Dead letters by queue and by likeness, in the order in which lists page. Written only when a todo dies, so the hot path pays nothing.
CREATE INDEX idx_todos_dead ON todos (queue, id)
  WHERE state = 'failed' AND available_at IS NULL;
CREATE INDEX idx_todos_fingerprint ON todos (fingerprint, id)
  WHERE state = 'failed' AND available_at IS NULL;
-- For the check that an event is no longer referred to; empty where events are not used.
CREATE INDEX idx_todos_event ON todos (event_id) WHERE event_id IS NOT NULL;

-- One row for each lease that ended otherwise than in completion. Owner and claimed_at may be null:
-- a row that was made by hand must never make a claim fail.
CREATE TABLE todo_attempts (
  todo_id    text COLLATE "C" NOT NULL REFERENCES todos (id) ON DELETE CASCADE,
  lease_seq  integer NOT NULL,
  attempt    integer NOT NULL,
  owner      text COLLATE "C",
  claimed_at timestamptz,
  ended_at   timestamptz NOT NULL DEFAULT now(),
  outcome    text NOT NULL,
  error      text,
  result     jsonb,
  PRIMARY KEY (todo_id, lease_seq),
  CONSTRAINT todo_attempts_outcome
    CHECK (outcome IN ('failed', 'released', 'expired', 'taken over', 'buried'))
);

-- Every queue that an enqueue has named, and what an operator has said about it. The claim's scan
-- indexes forget a queue whose work is all done; this table is what tells it from a misspelt one.
CREATE TABLE queues (
  name         text COLLATE "C" PRIMARY KEY CHECK (octet_length(name) BETWEEN 1 AND 128),
  paused_at    timestamptz,
  paused_until timestamptz,
  paused_by    text,
  reason       text
);

-- Who waits for what: a queue by its name, or a todo by its id. A transition notifies only where
-- somebody does, since NOTIFY takes a lock that serialises commits. It may be lost in a crash: waiters
-- write it again within seconds, and poll meanwhile.
CREATE UNLOGGED TABLE waiters (
  name  text COLLATE "C" NOT NULL,
  who   text COLLATE "C" NOT NULL,
  until timestamptz NOT NULL,
  PRIMARY KEY (name, who)
);

-- migrate:down

DROP TABLE waiters;
DROP TABLE queues;
DROP TABLE todo_attempts;
DROP TABLE todos;
DROP TABLE events;
