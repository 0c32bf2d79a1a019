package migrate_test

import (
	"bytes"
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/todoctl/todoctl/db"
	"github.com/todoctl/todoctl/pkg/migrate"
	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/todo"
)

func TestUpThenDown(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	c := pgtest.Connect(t, url)
	m, said := migrator(t, url, "")

	up, err := m.Up(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if up.Schema != "public" || up.Version != migrate.Latest() || len(up.Applied) == 0 {
		t.Errorf("up: %+v", up)
	}
	if !strings.Contains(said.text(), "applying "+up.Applied[0]) {
		t.Errorf("notes do not name the file: %q", said.text())
	}
	if got := text(t, c, relations); got != tables(t) {
		t.Errorf("tables after up: %s, want %s", got, tables(t))
	}
	again, err := m.Up(t.Context())
	if err != nil || len(again.Applied) != 0 || again.Version != migrate.Latest() {
		t.Errorf("second up: %+v, %v", again, err)
	}
	down, err := m.Down(t.Context(), true)
	if err != nil || len(down.Undone) != len(up.Applied) || down.Version != "" {
		t.Errorf("down: %+v, %v", down, err)
	}
	if got := text(t, c, relations); got != "" {
		t.Errorf("tables after down --all: %s", got)
	}
	if down, err = m.Down(t.Context(), false); err != nil || len(down.Undone) != 0 {
		t.Errorf("down with nothing applied: %+v, %v", down, err)
	}
}

func TestDownUndoesOneAndKeepsTheRecord(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	m, _ := migrator(t, url, "")
	up, err := m.Up(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	down, err := m.Down(t.Context(), false)
	if err != nil || len(down.Undone) != 1 || down.Undone[0] != migrate.Latest() {
		t.Fatalf("down: %+v, %v", down, err)
	}
	st, err := m.Status(t.Context())
	if err != nil || len(st.Pending) != 1 || len(st.Applied) != len(up.Applied)-1 {
		t.Errorf("status: %+v, %v", st, err)
	}
	if _, err := m.Up(t.Context()); err != nil {
		t.Errorf("up after down: %v", err)
	}
}

func TestUpMakesItsSchemaAndDownRemovesIt(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	c := pgtest.Connect(t, url)
	const odd = `odd "schema', name`
	for _, schema := range []string{"todoctl", odd} {
		m, _ := migrator(t, url, schema)
		if _, err := m.Up(t.Context()); err != nil {
			t.Fatalf("up in %s: %v", schema, err)
		}
		st, err := m.Status(t.Context())
		if err != nil || !st.Current || st.Schema != schema {
			t.Errorf("status: %+v, %v", st, err)
		}
	}
	if got := text(t, c, relations+" AND n.nspname = 'public'"); got != "" {
		t.Errorf("public got %s", got)
	}
	run(t, c, "CREATE TABLE todoctl.mine ()")
	for schema, want := range map[string]string{"todoctl": "todoctl.mine", odd: ""} {
		m, _ := migrator(t, url, schema)
		if _, err := m.Down(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		if got := text(t, c, relations+" AND n.nspname = $1", schema); got != want {
			t.Errorf("left in %s: %s", schema, got)
		}
	}
	if got := text(t, c, "SELECT string_agg(nspname, ' ') FROM pg_namespace WHERE nspname IN ('todoctl', $1)", odd); got != "todoctl" {
		t.Errorf("schemas left: %s; one holds a table of somebody else, the other was ours alone", got)
	}
}

func TestDownLeavesASchemaThatItDidNotMake(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	c := pgtest.Connect(t, url)
	run(t, c, "CREATE SCHEMA ops")
	m, _ := migrator(t, url, "ops")
	if _, err := m.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Down(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if got := text(t, c, "SELECT count(*)::text FROM pg_namespace WHERE nspname = 'ops'"); got != "1" {
		t.Error("down --all dropped a schema that was there before")
	}
}

func TestUpBesideForeignTablesChangesNothing(t *testing.T) {
	for _, table := range []string{"events", "todos", "todo_attempts", "queues", "waiters", "todo_journal", "todo_journal_rows"} {
		t.Run(table, func(t *testing.T) {
			url := pgtest.EmptyDatabase(t)
			c := pgtest.Connect(t, url)
			run(t, c, "CREATE TABLE "+table+" (mine int)")
			m, _ := migrator(t, url, "")
			_, err := m.Up(t.Context())
			refused(t, err, todo.CodeSchema, table, "--schema todoctl")
			st, err := m.Status(t.Context())
			if err != nil || st.Current {
				t.Errorf("status: %+v, %v", st, err)
			}
			refused(t, st.Err(), todo.CodeSchema, table, "--schema todoctl")
			if got := text(t, c, relations); got != "public."+table {
				t.Errorf("tables: %s", got)
			}
			m, _ = migrator(t, url, "todoctl")
			if _, err := m.Up(t.Context()); err != nil {
				t.Errorf("the way out that the hint names: %v", err)
			}
		})
	}
}

// A view may stand in a name's way as a table does.
func TestUpBesideForeignView(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	run(t, pgtest.Connect(t, url), "CREATE VIEW queues AS SELECT 1 AS one")
	m, _ := migrator(t, url, "")
	_, err := m.Up(t.Context())
	refused(t, err, todo.CodeSchema, "queues")
}

func TestScriptAndUpAgree(t *testing.T) {
	for _, schema := range []string{"", "ops", `o'd\d "x"`} {
		t.Run("schema "+schema, func(t *testing.T) {
			var script bytes.Buffer
			if err := migrate.SQL(&script, schema); err != nil {
				t.Fatal(err)
			}
			byScript, byUp := pgtest.EmptyDatabase(t), pgtest.EmptyDatabase(t)
			for range 2 { // a second run finds everything applied
				psql(t, byScript, script.String())
			}
			m, _ := migrator(t, byScript, schema)
			up, err := m.Up(t.Context())
			if err != nil || len(up.Applied) != 0 {
				t.Errorf("up after the script: %+v, %v", up, err)
			}
			m, _ = migrator(t, byUp, schema)
			if _, err := m.Up(t.Context()); err != nil {
				t.Fatal(err)
			}
			if a, b := dump(t, byScript), dump(t, byUp); a != b {
				t.Errorf("script and up make different schemas:\n%s\n---\n%s", a, b)
			}
			psql(t, byUp, script.String())
		})
	}
}

func TestScriptThatCannotBeWritten(t *testing.T) {
	if err := migrate.SQL(fullDisk{}, ""); !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
}

var errFull = errors.New("no space left")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// tables lists what the migrations make, and the table of versions.
func tables(t *testing.T) string {
	t.Helper()
	list := []string{"public.todoctl_migrations"}
	files, err := fs.Glob(db.Migrations, "migrations/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal("no migrations", err)
	}
	for _, file := range files {
		b, err := db.Migrations.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^CREATE (?:UNLOGGED )?TABLE (\w+)`).FindAllSubmatch(b, -1) {
			list = append(list, "public."+string(m[1]))
		}
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}
