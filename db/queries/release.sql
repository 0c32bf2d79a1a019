-- Gives leases back: the attempt is not spent and the todo keeps its old place, unless a delay moves it.
-- Guard: the lease that the receipt names, or for a bare id the owner; with force, whoever holds it.
-- Rows are locked in id order before any is changed: batches that meet do not deadlock. Index: todos_pkey, one probe for each id.
-- As a plain join it walked the whole index in order wherever statistics were of when nothing was claimed; the ids stand
-- there once more so that the join with what is locked does not.
WITH l AS MATERIALIZED (
  SELECT t.id, t.owner, t.claimed_at, t.lease_seq, t.attempt
    FROM (SELECT * FROM unnest(@ids::text[], @seqs::int[]) u(id, seq) ORDER BY id) u
   CROSS JOIN LATERAL (SELECT t.id, t.owner, t.claimed_at, t.lease_seq, t.attempt FROM todos t
      WHERE t.id = u.id AND t.state = 'claimed' AND (u.seq IS NULL OR t.lease_seq = u.seq)
        AND (@force::bool OR (u.seq IS NOT NULL AND NOT @named::bool) OR t.owner = @owner::text)
        FOR UPDATE OF t) t),
f AS (
  UPDATE todos t SET state = 'pending', owner = NULL, lease_expires_at = NULL, claimed_at = NULL, updated_at = now(),
         attempt = greatest(t.attempt - 1, 0), run_at = coalesce(now() + @delay::interval, t.run_at)
    FROM l WHERE t.id = l.id AND t.id = ANY (@ids::text[]) RETURNING t.*),
h AS (
  INSERT INTO todo_attempts (todo_id, lease_seq, attempt, owner, claimed_at, ended_at, outcome, error)
  SELECT l.id, l.lease_seq, l.attempt, l.owner, l.claimed_at, greatest(now(), l.claimed_at), 'released', @error::text FROM l)
SELECT f.*, now() AS server_now FROM f
