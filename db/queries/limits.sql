-- Bounds the statements of this transaction alone, where the role or the server sets no bound of its own, takes
-- from the planner what their plans must do without, and tells a claim where to begin.
-- Guard: none; changes no row. Index: none.
SELECT set_config(s.name, s.value, true)
  FROM unnest(@names::text[], @values::text[]) s(name, value)
 WHERE s.value = 'off' OR s.name LIKE 'todoctl.%' OR s.name = 'plan_cache_mode' OR current_setting(s.name, true) = '0'
