package migrate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/migrate"
	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/todo"
)

// Case C095: eight migrators at once on a new database all succeed, and one does the work.
func TestC095EightMigratorsAtOnce(t *testing.T) {
	for _, schema := range []string{"", "todoctl"} {
		t.Run("schema "+schema, func(t *testing.T) {
			url := pgtest.EmptyDatabase(t)
			type outcome struct {
				r   migrate.Result
				err error
			}
			outcomes := make(chan outcome)
			for range 8 {
				m, _ := migrator(t, url, schema)
				go func() { r, err := m.Up(t.Context()); outcomes <- outcome{r, err} }()
			}
			workers := 0
			for range 8 {
				o := <-outcomes
				if o.err != nil {
					t.Errorf("a racer failed: %v", o.err)
				}
				if len(o.r.Applied) > 0 {
					workers++
				}
				if o.r.Version != migrate.Latest() {
					t.Errorf("a racer ended at version %q", o.r.Version)
				}
			}
			if workers != 1 {
				t.Errorf("%d racers applied something, want 1", workers)
			}
			m, _ := migrator(t, url, schema)
			if st, err := m.Status(t.Context()); err != nil || !st.Current {
				t.Errorf("status: %+v, %v", st, err)
			}
		})
	}
}

// Case C096: what a newer release has done is left alone, and both versions are named. Only up, down
// and status complain: the contract lets a release run on the schema of the one after it.
func TestC096SchemaNewerThanTheBinary(t *testing.T) {
	url := migrated(t)
	c := pgtest.Connect(t, url)
	run(t, c, "INSERT INTO todoctl_migrations (version) VALUES ('99990101000000')")
	before := dump(t, url)
	m, _ := migrator(t, url, "")

	_, err := m.Up(t.Context())
	refused(t, err, todo.CodeSchema, "99990101000000", migrate.Latest(), "upgrade todoctl")
	_, err = m.Down(t.Context(), true)
	refused(t, err, todo.CodeSchema, "99990101000000", migrate.Latest(), "upgrade todoctl")
	st, err := m.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refused(t, st.Err(), todo.CodeSchema, "99990101000000", migrate.Latest(), "upgrade todoctl")
	if after := dump(t, url); after != before {
		t.Error("the newer schema was changed")
	}
	if got := text(t, c, "SELECT max(version) FROM todoctl_migrations WHERE version < '9999'"); got != migrate.Latest() {
		t.Errorf("the newest version but that one is %s, want %s", got, migrate.Latest())
	}
}

// Case C097: a missing schema says what is pending and what to run, and nothing migrates by itself.
func TestC097SchemaMissing(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	c := pgtest.Connect(t, url)
	m, _ := migrator(t, url, "")
	st, err := m.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	refused(t, st.Err(), todo.CodeSchema, "pending", migrate.Latest(), "todoctl migrate up")
	_, err = c.Exec(t.Context(), "SELECT id FROM todos")
	refused(t, dbconn.ReadError(t.Context(), err), todo.CodeSchema, "todoctl migrate up")
	if got := text(t, c, relations); got != "" {
		t.Errorf("status created %s", got)
	}
	// Of the right tables without a column that a statement needs the same is said.
	if _, err := m.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	run(t, c, "ALTER TABLE todos DROP COLUMN lease_seq")
	_, err = c.Exec(t.Context(), "UPDATE todos SET lease_seq = 1")
	refused(t, dbconn.WriteError(t.Context(), err), todo.CodeSchema, "todoctl migrate up")
}

// Case C100: an index that a broken-off build left invalid enforces nothing. Status says so, up
// builds it again, and where rows have broken its rule meanwhile, up says that.
func TestC100InvalidIndex(t *testing.T) {
	url := migrated(t)
	c := pgtest.Connect(t, url)
	m, _ := migrator(t, url, "")
	const invalidate = "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'idx_todos_dedupe'::regclass"
	run(t, c, invalidate)
	st, err := m.Status(t.Context())
	if err != nil || st.Current {
		t.Fatalf("status: %+v, %v", st, err)
	}
	refused(t, st.Err(), todo.CodeSchema, "invalid index", "idx_todos_dedupe", "todoctl migrate up")

	r, err := m.Up(t.Context())
	if err != nil || len(r.Rebuilt) != 1 || r.Rebuilt[0] != "idx_todos_dedupe" {
		t.Fatalf("up: %+v, %v", r, err)
	}
	if st, err = m.Status(t.Context()); err != nil || !st.Current {
		t.Errorf("status after up: %+v, %v", st, err)
	}
	run(t, c, "INSERT INTO todos (queue, idempotency_key) VALUES ('q', 'k')")
	if _, err = c.Exec(t.Context(), "INSERT INTO todos (queue, idempotency_key) VALUES ('q', 'k')"); err == nil {
		t.Error("the index that was built again does not enforce its rule")
	}

	// Two live rows of one key came in while the index was not there.
	run(t, c, "ALTER INDEX idx_todos_dedupe RENAME TO idx_old; DROP INDEX idx_old")
	run(t, c, "INSERT INTO todos (queue, idempotency_key) VALUES ('q', 'k')")
	if _, err = c.Exec(t.Context(), `CREATE UNIQUE INDEX CONCURRENTLY idx_todos_dedupe ON todos (queue, idempotency_key)
		WHERE idempotency_key IS NOT NULL AND available_at IS NOT NULL`); err == nil {
		t.Fatal("two equal keys passed a unique index")
	}
	_, err = m.Up(t.Context())
	refused(t, err, todo.CodeSchema, "idx_todos_dedupe", "k")
	run(t, c, "DELETE FROM todos")
	if _, err = m.Up(t.Context()); err != nil {
		t.Errorf("up after the rows are gone: %v", err)
	}
	if st, err = m.Status(t.Context()); err != nil || !st.Current {
		t.Errorf("status in the end: %+v, %v", st, err)
	}
	if got := text(t, c, "SELECT count(*)::text FROM pg_class WHERE relname ~ '_cc(new|old)'"); got != "0" {
		t.Errorf("%s half-built copies are left", got)
	}
}

// Case C101: without the right to create, the schema and the role are named and the GRANT to ask for.
func TestC101NoRightToCreate(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	c := pgtest.Connect(t, url)
	run(t, c, "REVOKE CREATE ON SCHEMA public FROM public") // as PostgreSQL 15 has it from the start
	role := ownRole(t, url)
	asApp := withUser(t, url, role)
	m, _ := migrator(t, asApp, "")
	_, err := m.Up(t.Context())
	refused(t, err, todo.CodeDenied, "public", role, "GRANT USAGE, CREATE ON SCHEMA")
	m, _ = migrator(t, asApp, "ops")
	_, err = m.Up(t.Context())
	refused(t, err, todo.CodeDenied, "ops", role, "CREATE SCHEMA \"ops\" AUTHORIZATION")
	if got := text(t, c, relations); got != "" {
		t.Errorf("created: %s", got)
	}

	// What the hints ask for is enough.
	run(t, c, "CREATE SCHEMA ops AUTHORIZATION "+pgx.Identifier{role}.Sanitize())
	if _, err = m.Up(t.Context()); err != nil {
		t.Errorf("up in a schema of its own: %v", err)
	}
	run(t, c, "GRANT USAGE, CREATE ON SCHEMA public TO "+pgx.Identifier{role}.Sanitize())
	m, _ = migrator(t, asApp, "")
	if _, err = m.Up(t.Context()); err != nil {
		t.Errorf("up with the grant: %v", err)
	}
}

// Case C101, second half: the tables are somebody else's.
func TestC101TablesOfAnotherOwner(t *testing.T) {
	url := migrated(t)
	app := pgtest.Connect(t, withUser(t, url, ownRole(t, url)))
	_, err := app.Exec(t.Context(), "SELECT id FROM todos")
	refused(t, dbconn.ReadError(t.Context(), err), todo.CodeDenied, "todos", "grant")
}

// Case C104: the library writes no file, reads none, and needs no pg_dump.
func TestC104NoSideEffects(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	dir := t.TempDir()
	trap := pgtest.EmptyDatabase(t)
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("DATABASE_URL="+trap+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) }) // so that it can be removed
	t.Chdir(dir)
	t.Setenv("PATH", dir)
	if _, err := exec.LookPath("pg_dump"); err == nil {
		t.Fatal("pg_dump is still found")
	}
	m, _ := migrator(t, url, "")
	if _, err := m.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v, %v", entries, err)
	}
	if got := text(t, pgtest.Connect(t, trap), relations); got != "" {
		t.Errorf("the database of .env got %s", got)
	}
}
