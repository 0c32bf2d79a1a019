-- A database like one that has run for four months: ten million todos in twenty queues, one made each second, ids that
-- sort as they were made; nine in ten done, a million dead in three likenesses, the newest 20,000 live in every condition,
-- and history for what failed or whose lease ran out. Into a migrated database:
--   todoctl local start && todoctl local psql -f pkg/queue/testdata/ten_million.sql
INSERT INTO queues (name) SELECT 'q' || i FROM generate_series(0, 19) i ON CONFLICT DO NOTHING;
INSERT INTO todos (id, queue, kind, title, payload, idempotency_key, assignee, state, owner, lease_expires_at, lease_seq, attempt, error, fingerprint,
                   next_retry_at, run_at, created_at, updated_at, claimed_at, completed_at)
SELECT 'td_' || lpad(to_hex(floor(extract(epoch FROM made) * 1000)::bigint >> 16), 8, '0') || '-'
             || lpad(to_hex(floor(extract(epoch FROM made) * 1000)::bigint & 65535), 4, '0') || '-7' || lpad(to_hex(i & 4095), 3, '0')
             || '-8000-' || lpad(to_hex(i), 12, '0'),
       'q' || i % 20, 'k' || i % 3, 'todo ' || i, jsonb_build_object('to', 'user' || i || '@example.test'), CASE WHEN i % 2 = 0 THEN 'key-' || i END,
       CASE WHEN state <> 'done' AND i % 100 = 7 THEN 'w' || i % 5 END, state, CASE WHEN state IN ('claimed', 'done') OR what = 'dead' THEN 'w' || i % 50 END,
       CASE what WHEN 'claimed' THEN now() + interval '1 d' WHEN 'expired' THEN now() - interval '1 min' END,
       CASE WHEN what = 'pending' THEN 0 ELSE 1 END, CASE WHEN what = 'pending' THEN 0 WHEN what = 'dead' THEN 5 ELSE 1 END,
       CASE WHEN state = 'failed' THEN 'error of template ' || i % 3 END, CASE WHEN state = 'failed' THEN 'aaaaaaaaaaa' || i % 3 END,
       CASE WHEN what = 'retrying' THEN now() + interval '1 d' END, CASE WHEN what = 'delayed' THEN now() + interval '1 d' ELSE made END,
       made, made, CASE WHEN state = 'claimed' THEN now() - interval '1 min' WHEN state = 'done' OR what = 'dead' THEN made + interval '1 min' END,
       CASE WHEN state = 'done' OR what = 'dead' THEN made + interval '2 min' END
  FROM (SELECT i, now() - (10000000 - i) * interval '1 s' AS made, what,
               CASE WHEN what IN ('retrying', 'dead') THEN 'failed' WHEN what = 'delayed' THEN 'pending' WHEN what = 'expired' THEN 'claimed' ELSE what END AS state
          FROM (SELECT i, CASE WHEN i > 9980000 THEN (ARRAY['pending', 'pending', 'pending', 'pending', 'delayed', 'claimed', 'claimed', 'expired', 'retrying', 'done'])[1 + i / 20 % 10]
                               WHEN i / 20 % 10 = 9 THEN 'dead' ELSE 'done' END AS what FROM generate_series(1, 10000000) i) g) r;
INSERT INTO todo_attempts (todo_id, lease_seq, attempt, owner, claimed_at, ended_at, outcome, error)
SELECT id, 1, 1, owner, claimed_at, completed_at, CASE WHEN right(id, 2) < '40' THEN 'expired' ELSE 'failed' END, error
  FROM todos WHERE state = 'failed' AND available_at IS NULL;
VACUUM ANALYZE todos, todo_attempts;
