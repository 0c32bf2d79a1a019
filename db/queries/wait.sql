-- Says for a while that somebody waits for these names.
-- Guard: none; saying it again moves the end. Names are taken in order. Index: waiters_pkey.
INSERT INTO waiters (name, who, until)
SELECT n.name, @who::text, now() + @length::interval FROM unnest(@names::text[]) n(name) ORDER BY n.name
    ON CONFLICT (name, who) DO UPDATE SET until = excluded.until
