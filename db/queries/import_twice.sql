-- Drops staged lines whose todo an earlier line holds already.
-- Guard: none. Index: none; the stage is read twice.
DELETE FROM todoctl_stage s
 USING (SELECT id, min(ord) AS first FROM todoctl_stage GROUP BY id HAVING count(*) > 1) d
 WHERE s.id = d.id AND s.ord > d.first
