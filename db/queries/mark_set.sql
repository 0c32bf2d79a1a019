-- Notes where the next claim of these queues may begin. A look at everything may lower the mark, since it knows
-- what lies below; any other only raises it. A mark that somebody else has locked is left to him.
-- Guard: none. Index: marks_pkey.
WITH found AS (
  UPDATE marks SET low = CASE WHEN @whole::bool THEN @low::timestamptz ELSE greatest(low, @low::timestamptz) END,
                   at  = CASE WHEN @whole::bool THEN now() ELSE at END
   WHERE ctid = (SELECT ctid FROM marks WHERE queues = @queues::text FOR UPDATE SKIP LOCKED) RETURNING 1)
INSERT INTO marks (queues, low, at)
SELECT @queues::text, @low::timestamptz, now() WHERE @whole::bool AND NOT EXISTS (SELECT 1 FROM found)
ON CONFLICT DO NOTHING
