-- Lists the journal, the newest first. Every filter is null where it was not given.
-- Guard: none; changes no row. Index: idx_todo_journal_at, backwards; idx_todo_journal_rows_id where a todo is named.
SELECT j.op, j.verb, j.who, j.role, j.host, j.at, j.ended_at, j.filter::text, j.options::text, j.reason, j.matched, j.changed, j.queues, j.undoes,
       (SELECT max(u.op) FROM todo_journal u WHERE u.undoes = j.op AND u.at >= j.at) AS undone_by, j.kept_until, now() AS server_now
  FROM todo_journal j
 WHERE (@ops::text[] IS NULL OR j.op = ANY (@ops::text[]))
   AND (@after::text IS NULL OR (j.at, j.op) < (SELECT a.at, a.op FROM todo_journal a WHERE a.op = @after::text))
   AND (@verbs::text[] IS NULL OR j.verb = ANY (@verbs::text[]))
   AND (@who::text[] IS NULL OR j.who = ANY (@who::text[]))
   AND (@queues::text[] IS NULL OR j.queues && @queues::text[])
   AND (@touched::text[] IS NULL OR j.op = ANY (ARRAY(SELECT r.op FROM todo_journal_rows r WHERE r.id = ANY (@touched::text[]))))
   AND (coalesce(@since::timestamptz, now() - @since_back::interval) IS NULL OR j.at >= coalesce(@since::timestamptz, now() - @since_back::interval))
   AND (coalesce(@until::timestamptz, now() - @until_back::interval) IS NULL OR j.at < coalesce(@until::timestamptz, now() - @until_back::interval))
 ORDER BY j.at DESC, j.op DESC LIMIT @page::int
