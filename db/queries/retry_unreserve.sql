-- Removes the rows that held the keys.
-- Guard: none needed; only this transaction sees them. Index: todos_pkey.
DELETE FROM todos WHERE id = ANY (SELECT 'rsv:' || r.id FROM unnest(@reserved::text[]) r(id))
