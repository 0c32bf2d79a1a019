-- Deletes rows of the journal that ended long ago and keep nothing for undo any more, a bounded number at once.
-- Guard: no before-images; another session that prunes is passed over. Index: idx_todo_journal_at.
DELETE FROM todo_journal WHERE op IN (
  SELECT op FROM todo_journal
   WHERE at < now() - @keep::interval AND ended_at < now() - @keep::interval AND kept_until IS NULL
   ORDER BY at, op LIMIT @page::int FOR UPDATE SKIP LOCKED)
RETURNING op
