package queue

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Statistics that were taken while a bulk enqueue was not committed promise no row at all, in a table that has
// pages enough. A batch must not walk the whole key then, once for each of its ids: it took seconds.
func TestPlansWhereNoRowIsExpected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`ALTER TABLE todos SET (autovacuum_enabled = off);
INSERT INTO todos (id, queue, state, owner, lease_seq, attempt, claimed_at, lease_expires_at)
SELECT 'td_01900000-0000-7000-8000-' || lpad(i::text, 12, '0'), 'q05', 'claimed', 'a', 1, 1, now(), now() + interval '1 h' FROM generate_series(1, 20000) i;
ANALYZE todos;
UPDATE pg_class SET reltuples = 0 WHERE oid = 'todos'::regclass`, pgx.QueryExecModeSimpleProtocol)
	ids := make([]string, 500)
	for i := range ids {
		ids[i] = fmt.Sprintf("td_01900000-0000-7000-8000-%012d", 1+i*39)
	}
	for _, c := range batches() {
		asked, _ := c.args["ids"].([]string)
		if len(asked) != len(ids) {
			continue
		}
		off := without(c.file)
		if slices.Contains([]string{"bump", "bury", "retry", "purge", "undo"}, c.file) {
			off = byID()
		}
		c.args["ids"] = ids
		if n := w.plan(c.file, "run", c.args, off).rows(); n > 4*len(ids) {
			t.Errorf("%s reads %d rows for %d ids", c.file, n, len(ids))
		}
	}
}
