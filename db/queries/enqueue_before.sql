-- Notes for each staged line the live todo that has its key now. Where that one ends before the duplicates are looked
-- up, it is still the one that the line was a duplicate of.
-- Guard: none. Index: idx_todos_dedupe.
UPDATE todoctl_stage s SET live = v.id FROM todos v
 WHERE v.queue = s.queue AND v.idempotency_key = s.idempotency_key AND v.available_at IS NOT NULL
