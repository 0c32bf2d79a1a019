-- Bounds the statements of this transaction alone, where the role or the server sets no bound of its own.
-- Guard: none; changes no row. Index: none.
SELECT set_config(s.name, s.value, true)
  FROM unnest(@names::text[], @values::text[]) s(name, value)
 WHERE current_setting(s.name) = '0'
