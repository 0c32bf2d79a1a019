-- migrate:up

-- What operators did: one row for each verb that changed something, written in the transactions that it
-- changed it in. A verb that works in parts, or is resumed, extends its row. Workers' verbs write nothing here.
CREATE TABLE todo_journal (
  op         text COLLATE "C" PRIMARY KEY,
  verb       text NOT NULL,
  who        text NOT NULL DEFAULT current_user,
  role       text NOT NULL DEFAULT current_user,
  host       text NOT NULL DEFAULT '',
  at         timestamptz NOT NULL DEFAULT now(),
  ended_at   timestamptz NOT NULL DEFAULT now(),
  filter     jsonb,
  options    jsonb NOT NULL DEFAULT '{}',
  reason     text,
  matched    bigint NOT NULL DEFAULT 0,
  changed    bigint NOT NULL DEFAULT 0,
  undoes     text COLLATE "C",
  kept_until timestamptz
);
CREATE INDEX idx_todo_journal_at ON todo_journal (at, op);
CREATE INDEX idx_todo_journal_undoes ON todo_journal (undoes) WHERE undoes IS NOT NULL;
-- The verbs whose before-images are to be dropped, the first that are due first.
CREATE INDEX idx_todo_journal_kept ON todo_journal (kept_until) WHERE kept_until IS NOT NULL;

-- What each verb touched: a todo, or a queue where the verb is one on queues. image is the row as it was before, null
-- where there was none; history its rows of todo_attempts where they went too. lease_seq and updated_at are those that
-- the verb left behind: as long as the row still has them, nothing has happened to it since.
CREATE TABLE todo_journal_rows (
  op         text COLLATE "C" NOT NULL,
  id         text COLLATE "C" NOT NULL,
  lease_seq  integer,
  updated_at timestamptz,
  image      jsonb,
  history    jsonb,
  undone_by  text COLLATE "C",
  PRIMARY KEY (op, id)
);
CREATE INDEX idx_todo_journal_rows_id ON todo_journal_rows (id);

-- migrate:down

DROP TABLE todo_journal_rows;
DROP TABLE todo_journal;
