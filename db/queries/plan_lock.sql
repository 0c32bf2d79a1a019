-- Lets one process at a time move a part of a plan, or undo a part of an op: what one has done the next one sees.
-- Guard: a lock that ends with the transaction. Index: none; it reads no table.
SELECT pg_advisory_xact_lock(hashtextextended(@op::text, 0))
