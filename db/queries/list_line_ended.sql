-- Lists the ids of todos that are done, or dead, in the order in which they ended, a page of them, with the time of each. So much is
-- looked at of each queue; times up to which all of them were looked at are listed, and the last row says how far that is, where it
-- goes on. The other filters are left to what reads them by id.
-- Guard: none; changes no row. Index: idx_todos_ended, from the time on, for each queue; of dead ones idx_todos_dead_at.
WITH RECURSIVE names(name) AS (
  (SELECT queue FROM todos WHERE @done::bool AND completed_at IS NOT NULL ORDER BY queue LIMIT 1)
  UNION ALL
  SELECT (SELECT queue FROM todos WHERE queue > names.name AND completed_at IS NOT NULL ORDER BY queue LIMIT 1)
    FROM names WHERE names.name IS NOT NULL),
bounds AS MATERIALIZED (
  SELECT greatest(@after_at::timestamptz, @since::timestamptz, now() - @since_back::interval) AS low,
         coalesce(@until::timestamptz, now() - @until_back::interval, 'infinity') AS high),
line AS MATERIALIZED (
  SELECT n.name AS part, r.* FROM names n CROSS JOIN LATERAL (
    SELECT t.id, t.completed_at AS place, t.state = 'done' AS matched FROM todos t
     WHERE t.queue = n.name AND t.completed_at >= (SELECT low FROM bounds) AND t.completed_at < (SELECT high FROM bounds)
       AND (t.completed_at, t.id) > (@after_at::timestamptz, @after_id::text)
     ORDER BY t.completed_at, t.id LIMIT @each::int) r
   WHERE @queues::text[] IS NULL OR n.name = ANY (@queues::text[])
  UNION ALL
  SELECT NULL, d.* FROM (
    SELECT t.id, coalesce(t.completed_at, t.updated_at), @queues::text[] IS NULL OR t.queue = ANY (@queues::text[]) FROM todos t
     WHERE @dead::bool AND t.state = 'failed' AND t.available_at IS NULL
       AND coalesce(t.completed_at, t.updated_at) >= (SELECT low FROM bounds) AND coalesce(t.completed_at, t.updated_at) < (SELECT high FROM bounds)
       AND (coalesce(t.completed_at, t.updated_at), t.id) > (@after_at::timestamptz, @after_id::text)
     ORDER BY coalesce(t.completed_at, t.updated_at), t.id LIMIT @each::int) d),
ends AS (
  SELECT (array_agg(place ORDER BY place DESC, id DESC))[1] AS place, (array_agg(id ORDER BY place DESC, id DESC))[1] AS id
    FROM line GROUP BY part HAVING count(*) >= @each::int),
far AS MATERIALIZED (SELECT place, id FROM ends ORDER BY place, id LIMIT 1)
SELECT * FROM (
  SELECT x.id, x.place, false AS far, 0::bigint AS looked FROM line x
   WHERE x.matched AND NOT EXISTS (SELECT 1 FROM far WHERE (x.place, x.id) > (far.place, far.id))
   ORDER BY x.place, x.id) y
UNION ALL
SELECT id, place, true, (SELECT count(*) FROM line WHERE (line.place, line.id) <= (far.place, far.id)) FROM far
