-- Keeps one read on its index in id order, whatever the statistics say of the table: a list must not
-- turn into a sort of the whole table because autovacuum has not been by. Holds in this transaction alone.
-- Guard: none; changes no row. Index: none.
SELECT set_config(s.name, 'off', true)
  FROM unnest(ARRAY['enable_seqscan', 'enable_bitmapscan', 'enable_sort']) s(name)
