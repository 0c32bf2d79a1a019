//go:build unix

package cmd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

// Receipts on standard input are worked off in batches, and answered one line each, in order: those of a
// batch as soon as it is done. Where a later batch fails the error says how far it came.
func TestReceiptsInBatches(t *testing.T) {
	t.Parallel()
	const todos = 2500
	c := newCLI(t)
	conn := pgtest.Connect(t, pgURL(c.env))
	pgExec(t, conn, `INSERT INTO todos (id, queue, state, owner, lease_expires_at, lease_seq, attempt, claimed_at)
		SELECT 'td_00000000-0000-7000-8000-' || to_char(i, 'FM000000000000'), 'q', 'claimed', 'w', now() + interval '1 h', 1, 1, now()
		  FROM generate_series(1, $1::int) i`, todos)
	var in strings.Builder
	ids := make([]string, todos)
	for i := range ids {
		ids[i] = fmt.Sprintf("td_00000000-0000-7000-8000-%012d", todos-i) // an order that is not the server's
		in.WriteString(ids[i] + "@1\n")
	}
	for _, verb := range []string{"heartbeat", "heartbeat -o jsonl", "heartbeat -o json"} {
		args := append(strings.Fields(verb), "-")
		r := c.pipe(in.String(), args...)
		if r.code != 0 {
			t.Fatalf("%s: exit %d: %s", verb, r.code, r.err)
		}
		got := r.out
		for i, id := range ids {
			at := strings.Index(got, id)
			if at < 0 {
				t.Fatalf("%s: %s, number %d, is missing or out of order", verb, id, i)
			}
			got = got[at+len(id):]
		}
	}

	locked, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := locked.Exec(t.Context(), "SELECT 1 FROM todos WHERE id = $1 FOR UPDATE", ids[1500]); err != nil {
		t.Fatal(err)
	}
	impatient := c.on(asKeys(t, pgURL(c.env), "options", "-c lock_timeout=500ms"))
	r := impatient.pipe(in.String(), "complete", "-")
	if err := locked.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(r.out, "done"); n != 1000 || r.code != 8 || !strings.Contains(r.err, "complete: the first 1000 of 2500 are answered, then: ") {
		t.Errorf("exit %d after %d answers: %s", r.code, n, r.err)
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state = 'done'"); n != 1000 {
		t.Errorf("%d todos are done, 1000 were answered", n)
	}
}
