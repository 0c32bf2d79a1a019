-- Makes the table that a bulk enqueue copies its lines into. It lives as long as the transaction, so that it works behind a pooler.
-- Guard: none. Index: none.
CREATE TEMP TABLE todoctl_stage (
  ord integer, id text COLLATE "C", queue text COLLATE "C", source text, kind text, title text, payload jsonb,
  event_id text COLLATE "C", event_source text COLLATE "C", event_kind text, external_id text COLLATE "C", event jsonb,
  idempotency_key text COLLATE "C", assignee text COLLATE "C", max_attempts integer, at timestamptz, delay interval, raw text,
  live text COLLATE "C"
) ON COMMIT DROP
