-- Lists the ids that a filter for live or dead todos can match, in no order, as long as they are few: a list of them is
-- then read id by id, where a walk in id order would read every done todo on its way.
-- Guard: none; changes no row. Index: idx_todos_pool, idx_todos_assigned, idx_todos_dead.
SELECT p.id FROM todos p
 WHERE @live::bool AND p.available_at IS NOT NULL AND p.assignee IS NULL AND @assignees::text[] IS NULL
   AND p.state = ANY (@states::text[])
   AND (@queues::text[] IS NULL OR p.queue = ANY (@queues::text[]))
   AND (@owners::text[] IS NULL OR p.owner = ANY (@owners::text[]))
UNION ALL
SELECT a.id FROM todos a
 WHERE @live::bool AND a.available_at IS NOT NULL AND a.assignee IS NOT NULL
   AND a.state = ANY (@states::text[])
   AND (@assignees::text[] IS NULL OR a.assignee = ANY (@assignees::text[]))
   AND (@queues::text[] IS NULL OR a.queue = ANY (@queues::text[]))
   AND (@owners::text[] IS NULL OR a.owner = ANY (@owners::text[]))
UNION ALL
SELECT d.id FROM todos d
 WHERE @dead::bool AND d.state = 'failed' AND d.available_at IS NULL
   AND (@assignees::text[] IS NULL OR d.assignee = ANY (@assignees::text[]))
   AND (@queues::text[] IS NULL OR d.queue = ANY (@queues::text[]))
   AND (@owners::text[] IS NULL)
 LIMIT @page::int
