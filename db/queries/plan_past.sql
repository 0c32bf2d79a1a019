-- Says how many todos a plan's op has moved and how long ago it moved the last: whoever applies the same plan elsewhere, or did
-- so a moment ago, has taken its share of the rate. And by what it was undone, if it was.
-- Guard: none; changes no row. Index: todo_journal_pkey, idx_todo_journal_undoes.
SELECT j.changed::int AS changed, clock_timestamp() - j.ended_at AS since, (SELECT max(u.op) FROM todo_journal u WHERE u.undoes = j.op) AS undone_by
  FROM todo_journal j WHERE j.op = @op::text
