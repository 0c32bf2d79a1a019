-- Reads a regular expression, so that a wrong one is told also where no row would be compared with it.
-- Guard: none; changes no row. Index: none.
SELECT '' ~ @error::text AS matches
