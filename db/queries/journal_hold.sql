-- Notes in the journal how leases stood that an operator is about to end, whoever holds them. Every named todo is locked
-- first: none can be claimed between this statement and the one that ends the leases. json_null tells a result that is
-- null in JSON from none.
-- Guard: claimed, under the lease where one is named. Index: todos_pkey.
WITH l AS MATERIALIZED (
  SELECT t.id, t.state, t.lease_seq, u.seq, (to_jsonb(t) - '{payload,available_at}'::text[]) || jsonb_build_object('json_null', t.result = 'null') AS image
    FROM unnest(@ids::text[], @seqs::int[]) u(id, seq) JOIN todos t ON t.id = u.id ORDER BY t.id FOR UPDATE OF t)
INSERT INTO todo_journal_rows (op, id, lease_seq, updated_at, image)
SELECT @op::text, l.id, l.lease_seq, now(), l.image FROM l WHERE l.state = 'claimed' AND (l.seq IS NULL OR l.lease_seq = l.seq)
