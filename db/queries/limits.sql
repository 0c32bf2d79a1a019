-- Bounds the statements of this transaction alone, where the role or the server sets no bound of its own, and takes
-- from the planner what their plans must do without.
-- Guard: none; changes no row. Index: none.
SELECT set_config(s.name, s.value, true)
  FROM unnest(@names::text[], @values::text[]) s(name, value)
 WHERE s.value = 'off' OR current_setting(s.name) = '0'
