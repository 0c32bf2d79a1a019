-- Lists the ids of the todos that have failed, with one of some fingerprints or any, in no order, as long as they are few: see
-- list_few.sql. states are those of todos that are not dead.
-- Guard: none; changes no row. Index: idx_todos_failures; of dead ones idx_todos_fingerprint.
SELECT t.id FROM todos t
 WHERE (t.fingerprint IS NOT NULL OR t.state = 'failed') AND (t.available_at IS NOT NULL OR t.state = 'done')
   AND t.state = ANY (@states::text[]) AND (@fingerprints::text[] IS NULL OR t.fingerprint = ANY (@fingerprints::text[]))
UNION ALL
SELECT d.id FROM todos d
 WHERE @dead::bool AND d.state = 'failed' AND d.available_at IS NULL AND d.fingerprint = ANY (@fingerprints::text[])
 LIMIT @page::int
