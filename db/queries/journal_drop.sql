-- Drops before-images whose time is over, a bounded number at once; the rows of the journal itself stay.
-- Guard: another session that drops them is passed over. Index: idx_todo_journal_kept, todo_journal_rows_pkey.
WITH o AS MATERIALIZED (
  SELECT op FROM todo_journal WHERE kept_until < now() ORDER BY kept_until LIMIT 100 FOR UPDATE SKIP LOCKED),
v AS MATERIALIZED (
  SELECT r.ctid AS place FROM todo_journal_rows r WHERE r.op = ANY (ARRAY(SELECT o.op FROM o)) ORDER BY r.op, r.id LIMIT @page::int),
d AS (DELETE FROM todo_journal_rows r WHERE r.ctid = ANY (ARRAY(SELECT v.place FROM v))),
u AS (UPDATE todo_journal j SET kept_until = NULL FROM o WHERE j.op = o.op AND (SELECT count(*) FROM v) < @page::int)
SELECT (SELECT count(*) FROM v)::int AS dropped, (SELECT count(*) FROM o)::int AS verbs
