//go:build unix

package cmd_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

// TestExamples runs every line of every help page as it stands, in a shell, in a database that holds
// todos in each condition, with TODO_ID and TODO_RECEIPT as a worker or an operator would have them.
// Each ends well.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, page := range commands() {
		name := page.CommandPath()
		if strings.HasPrefix(name, "todoctl local") {
			continue // below, with a server of its own
		}
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			url := pgtest.Database(t)
			c, conn := newCLIOn(t, url), pgtest.Connect(t, url)
			for _, line := range strings.Split(page.Example, "\n") {
				receipt := exampleTodos(t, conn)
				d := c.with("TODO_RECEIPT="+receipt, "TODO_ID="+pgValue[string](t, conn,
					"SELECT max(id) FROM todos WHERE queue = 'mail' AND title = $1", map[bool]string{true: "dead", false: "pending"}[name == "todoctl retry"]))
				if r := d.sh("sh", line); r.code != 0 {
					t.Errorf("%s\nexit %d\n%s%s", strings.TrimSpace(line), r.code, r.out, r.err)
				}
			}
		})
	}
}

// exampleTodos empties the tables and fills them anew: todos of the queue mail in the conditions that
// examples name, and a lease of w in another queue, whose receipt it returns.
func exampleTodos(t *testing.T, conn *pgx.Conn) (receipt string) {
	t.Helper()
	pgExec(t, conn, `DO $$ BEGIN TRUNCATE todos, todo_attempts, events, queues, todo_journal, todo_journal_rows;
		INSERT INTO queues (name) VALUES ('mail'), ('billing'), ('other');
		INSERT INTO todos (id, queue, title, kind, payload)
		SELECT 'td_' || i, 'mail', 'pending', (ARRAY['newsletter', 'password-reset'])[1 + i % 2], '{"to":"ada@example.test"}' FROM generate_series(1, 4) i;
		INSERT INTO todos (queue, title, state, error, completed_at, attempt, lease_seq)
		SELECT 'mail', 'dead', 'failed', 'timeout after 30 s', now() - i * interval '40 days', 5, 5 FROM generate_series(0, 1) i;
		INSERT INTO todos (queue, title, state, completed_at, attempt, lease_seq)
		SELECT 'mail', 'done', 'done', now() - interval '60 days', 1, 1;
		INSERT INTO todos (queue, title, state, owner, lease_expires_at, claimed_at, attempt, lease_seq)
		SELECT 'mail', 'expired', 'claimed', 'gone', now() - interval '1 minute', now(), 1, 1;
		INSERT INTO todo_journal (op, verb, changed, kept_until) VALUES ('op_1', 'bury', 1, now() + interval '1 day');
		INSERT INTO todo_journal_rows (op, id, lease_seq, updated_at, image)
		SELECT 'op_1', id, lease_seq, updated_at, to_jsonb(t) || '{"error":"before"}' FROM todos t WHERE title = 'dead';
	END $$`)
	return pgValue[string](t, conn, `INSERT INTO todos (queue, state, owner, lease_expires_at, claimed_at, attempt, lease_seq)
		VALUES ('other', 'claimed', 'w', now() + interval '1 hour', now(), 1, 1) RETURNING id || '@1'`)
}

// TestExamplesOfLocal runs the lines of the local server's pages beside a server of the test's own.
func TestExamplesOfLocal(t *testing.T) {
	t.Parallel()
	c := newLocalCLI(t)
	defer c.run("local", "stop")
	lines := 0
	for _, page := range commands() {
		if !strings.HasPrefix(page.CommandPath(), "todoctl local") {
			continue
		}
		for _, line := range strings.Split(page.Example, "\n") {
			lines++
			c.ok("local", "start", "--quiet")
			if r := c.sh("sh", line); r.code != 0 {
				t.Errorf("%s\nexit %d\n%s%s", strings.TrimSpace(line), r.code, r.out, r.err)
			}
		}
	}
	if lines < 12 {
		t.Errorf("only %d lines were run", lines)
	}
}
