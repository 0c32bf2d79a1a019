-- Lets one process at a time move a part of a plan: what one has moved the next one sees.
-- Guard: a lock that ends with the transaction. Index: none; it reads no table.
SELECT pg_advisory_xact_lock(hashtextextended(@op::text, 0))
