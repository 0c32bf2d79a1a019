-- Writes the row of an operator's verb into the journal, or extends it where the verb works in parts; changed null is
-- to be counted by the rows that the verb has left in the journal, as are its queues then, and none of them is no row. A role
-- cannot be lied about: it is the server's word.
-- Guard: one row for each op. Index: todo_journal_pkey, todo_journal_rows_pkey.
INSERT INTO todo_journal AS j (op, verb, who, host, filter, options, reason, matched, changed, queues, undoes, kept_until)
SELECT @op::text, @verb::text, coalesce(@who::text, current_user), @host::text, @filter::text::jsonb, @options::text::jsonb, @reason::text,
       coalesce(@matched::bigint, n.changed), n.changed,
       CASE WHEN @changed::bigint IS NOT NULL THEN coalesce(@queues::text[], '{}') ELSE ARRAY(
         SELECT DISTINCT coalesce(r.image ->> 'queue', r.id) FROM todo_journal_rows r WHERE r.op = @op::text ORDER BY 1) END,
       @undoes::text, now() + @keep::interval
  FROM (SELECT coalesce(@changed::bigint, (SELECT count(*) FROM todo_journal_rows r WHERE r.op = @op::text)) AS changed) n
 WHERE @changed::bigint IS NOT NULL OR n.changed > 0
    ON CONFLICT (op) DO UPDATE SET ended_at = now(), kept_until = excluded.kept_until,
       queues = ARRAY(SELECT DISTINCT q.q FROM unnest(j.queues || excluded.queues) q(q) ORDER BY q.q),
       matched = CASE WHEN @changed::bigint IS NULL THEN excluded.matched ELSE j.matched + excluded.matched END,
       changed = CASE WHEN @changed::bigint IS NULL THEN excluded.changed ELSE j.changed + excluded.changed END
