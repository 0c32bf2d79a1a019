-- Says of each index that the statements need whether it is there and valid.
-- Guard: none; changes no row. Index: none; reads the catalog.
SELECT n.name, x.indexrelid IS NOT NULL AS there, coalesce(x.indisvalid AND x.indisready, false) AS valid
  FROM unnest(@names::text[]) n(name)
  LEFT JOIN pg_catalog.pg_index x ON x.indexrelid = to_regclass(n.name)
 ORDER BY n.name
