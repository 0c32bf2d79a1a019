package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/migrate"
	"github.com/todoctl/todoctl/pkg/pgtest"
)

// Case C095: eight processes migrate a new database at once; all succeed, and one does the work.
func TestC095EightMigrateCommandsAtOnce(t *testing.T) {
	c := newCLIOn(t, pgtest.EmptyDatabase(t))
	r := c.sh("sh", "seq 8 | xargs -P8 -I{} todoctl migrate up -o jsonl")
	if r.code != 0 || r.err != "" {
		t.Fatalf("exit %d\n%s", r.code, r.err)
	}
	workers := 0
	for line := range strings.Lines(r.out) {
		if len(decode[migrate.Result](t, line).Applied) > 0 {
			workers++
		}
	}
	if strings.Count(r.out, "\n") != 8 || workers != 1 {
		t.Errorf("%d answers, %d of them of one that worked:\n%s", strings.Count(r.out, "\n"), workers, r.out)
	}
	if st := decode[migrate.Status](t, c.ok("migrate", "status", "-o", "json")); !st.Current || len(st.Applied) == 0 {
		t.Errorf("status: %+v", st)
	}
}

// Case C096: after a rollback of the binary the schema is newer. Work goes on, since a release runs on
// the schema of the one after it; migrate says what is wrong and changes nothing.
func TestC096SchemaNewerThanTheBinary(t *testing.T) {
	url := pgtest.Database(t)
	c := newCLIOn(t, url)
	execSQL(t, url, "INSERT INTO todoctl_migrations (version) VALUES ('99990101000000')")
	before := tableNames(t, url)
	c.ok("enqueue", "-q", "q")
	c.ok("list", "-q", "q")
	for _, args := range [][]string{{"migrate", "up"}, {"migrate", "up", "--dry-run"}, {"migrate", "status"}, {"migrate", "down", "--yes"}, {"migrate", "down", "--dry-run"}} {
		c.fails(10, args...).says(t, "99990101000000", migrate.Latest(), "upgrade todoctl")
	}
	if r := c.run("migrate", "status", "-o", "json"); r.code != 10 || decode[migrate.Status](t, r.out).Current {
		t.Errorf("exit %d: %s", r.code, r.out)
	}
	if after := tableNames(t, url); after != before {
		t.Errorf("tables were %s and are %s", before, after)
	}
}

// Case C097: on a database without the tables, or with older ones, every command says which command
// mends it, and none migrates by itself.
func TestC097SchemaMissingOrOlder(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	c := newCLIOn(t, url)
	for _, args := range [][]string{{"list"}, {"enqueue", "-q", "q"}, {"claim", "-q", "q"}, {"reap"}, {"queues"}, {"show", "td_1"}} {
		c.fails(10, args...).says(t, "todoctl migrate up")
	}
	c.fails(10, "migrate", "status").says(t, "pending", migrate.Latest(), "todoctl migrate up")
	if got := tableNames(t, url); got != "" {
		t.Errorf("somebody migrated: %s", got)
	}
	c.ok("migrate", "up")
	c.ok("list")
	execSQL(t, url, "ALTER TABLE todos DROP COLUMN lease_seq")
	c.fails(10, "claim", "-q", "q", "--owner", "w").says(t, "todoctl migrate up")
}

// Case C100: an index that a broken-off build left invalid is told by status and built again by up.
func TestC100InvalidIndex(t *testing.T) {
	url := pgtest.Database(t)
	c := newCLIOn(t, url)
	execSQL(t, url, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'idx_todos_dedupe'::regclass")
	r := c.fails(10, "migrate", "status", "-o", "json").says(t, "invalid", "idx_todos_dedupe")
	if st := decode[migrate.Status](t, r.out); st.Current || len(st.InvalidIndexes) != 1 {
		t.Errorf("status: %+v", st)
	}
	if got := c.ok("migrate", "up", "--jq", ".rebuilt[]"); got != "idx_todos_dedupe" {
		t.Errorf("rebuilt: %s", got)
	}
	c.ok("migrate", "status")
}

// Case C101: a role without the right to create, and one without the right to read.
func TestC101NoRight(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	role := loginRole(t, url)
	execSQL(t, url, "REVOKE CREATE ON SCHEMA public FROM public")
	app := newCLIOn(t, asRole(t, url, role))
	app.fails(11, "migrate", "up").says(t, "schema public", role, "GRANT USAGE, CREATE ON SCHEMA")
	if got := tableNames(t, url); got != "" {
		t.Errorf("created: %s", got)
	}
	newCLIOn(t, url).ok("migrate", "up")
	for _, args := range [][]string{{"list"}, {"enqueue", "-q", "q"}, {"claim", "-q", "q"}} {
		app.fails(11, args...).says(t, "permission denied for table", role, "GRANT")
	}
	app.fails(11, "migrate", "status").says(t, migrate.Table, role, "GRANT")
}

// Case C104: no file is written or read by surprise, and stdout holds the answer alone.
func TestC104NoSideEffects(t *testing.T) {
	url, trap := pgtest.EmptyDatabase(t), pgtest.EmptyDatabase(t)
	c := newCLIOn(t, url)
	dir := filepath.Join(c.dir, "ro")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".env"), []byte("DATABASE_URL="+trap+"\nTODOCTL_SCHEMA=trap\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) }) // so that it can be removed
	r := c.exec("", "sh", "-c", `todoctl=$(command -v todoctl) && cd ro && PATH=/nonexistent && export PATH && "$todoctl" migrate up -o json`)
	if r.code != 0 || r.err != "" {
		t.Fatalf("exit %d\n%s", r.code, r.err)
	}
	if got := decode[migrate.Result](t, r.out); got.Schema != "public" || len(got.Applied) == 0 {
		t.Errorf("answer: %s", r.out)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %v, %v", entries, err)
	}
	if got := tableNames(t, trap); got != "" {
		t.Errorf("the database of .env got %s", got)
	}
}

func TestMigrateBesideForeignTables(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	execSQL(t, url, "CREATE TABLE events (mine int)")
	c := newCLIOn(t, url)
	for _, args := range [][]string{{"up"}, {"up", "--dry-run"}, {"status"}} {
		c.fails(10, append([]string{"migrate"}, args...)...).says(t, "events", "--schema todoctl")
	}
	c.ok("migrate", "up", "--schema", "todoctl")
	c.ok("enqueue", "--schema", "todoctl", "-q", "q")
	if got := tableNames(t, url); !strings.HasPrefix(got, "public.events todoctl.events") || strings.Contains(got, "public.todos") {
		t.Errorf("tables: %s", got)
	}
}

func TestMigrateDownAsksFirst(t *testing.T) {
	url := pgtest.Database(t)
	c := newCLIOn(t, url)
	c.ok("enqueue", "-q", "q")
	before := tableNames(t, url)
	for _, args := range [][]string{{"down"}, {"down", "--all"}} {
		c.fails(2, append([]string{"migrate"}, args...)...).says(t, "--yes", migrate.Latest(), "public")
	}
	plan := decode[map[string]any](t, c.ok("migrate", "down", "--all", "--dry-run", "-o", "json"))
	if plan["dry_run"] != true || len(plan["undone"].([]any)) == 0 || plan["version"] != "" {
		t.Errorf("plan: %v", plan)
	}
	if after := tableNames(t, url); after != before {
		t.Fatalf("not confirmed, and yet %s became %s", before, after)
	}
	if got := c.ok("migrate", "down", "--yes", "--jq", ".undone[0]"); got != migrate.Latest() {
		t.Errorf("undone: %s", got)
	}
	if got := pgValue[int](t, pgtest.Connect(t, url), "SELECT count(*)::int FROM todoctl_migrations WHERE version = $1", migrate.Latest()); got != 0 {
		t.Errorf("after down the newest version is still recorded")
	}
	c.ok("migrate", "down", "--all", "--yes")
	if got := tableNames(t, url); got != "" {
		t.Errorf("after down --all: %s", got)
	}
	c.ok("migrate", "down") // nothing is left to ask about
}

func TestMigrateUpDryRun(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	c := newCLIOn(t, url)
	if got := c.ok("migrate", "up", "--dry-run", "--jq", ".applied[]"); !strings.HasSuffix(got, migrate.Latest()) {
		t.Errorf("plan: %s", got)
	}
	if got := tableNames(t, url); got != "" {
		t.Errorf("dry run created %s", got)
	}
}

func TestMigrateScriptForTheDBA(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	c := newCLIOn(t, url)
	nowhere := *c
	nowhere.env = []string{path(t), quickExit, "HOME=" + c.dir, "TODOCTL_CONFIG=" + filepath.Join(c.dir, "empty.yaml")}
	script := nowhere.ok("migrate", "sql", "--schema", "ops") // no database is named at all
	for range 2 {
		if r := c.exec(script+"\n", pgProgram(t, "psql"), "-X", "-q", "-d", url, "-f", "-"); r.code != 0 {
			t.Fatalf("psql: exit %d\n%s", r.code, r.err)
		}
	}
	c.ok("migrate", "status", "--schema", "ops")
	if got := c.ok("migrate", "up", "--schema", "ops", "--jq", ".applied | length"); got != "0" {
		t.Errorf("up after the script applied %s", got)
	}
	c.ok("enqueue", "--schema", "ops", "-q", "q")
	if r := c.sh("sh", "todoctl migrate sql > /dev/full"); r.code != 1 || r.err == "" {
		t.Errorf("on a full disk: exit %d, %q", r.code, r.err)
	}
}

func TestMigrateWait(t *testing.T) {
	c := newCLIOn(t, pgtest.EmptyDatabase(t))
	c.fails(124, "migrate", "wait", "--timeout", "1s").says(t, "pending", migrate.Latest())
	r := c.sh("sh", `todoctl migrate wait --timeout 10m & todoctl migrate up --quiet && wait $!`)
	if r.code != 0 || r.out != "" {
		t.Errorf("exit %d, %q, %s", r.code, r.out, r.err)
	}
	c.with("TODOCTL_DATABASE_URL=postgres://127.0.0.1:1/x").fails(124, "migrate", "wait", "--timeout", "1s").says(t, "127.0.0.1:1")
	c.with("TODOCTL_DATABASE_URL=mysql://x").fails(2, "migrate", "wait")
}

func TestMigrateUsage(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	c := newCLIOn(t, url)
	c.fails(2, "migrate").says(t, "up, down, status, sql or wait")
	c.fails(2, "migrate", "bogus")
	for _, verb := range []string{"up", "down", "status", "sql", "wait"} {
		c.fails(2, "migrate", verb, "stray")
	}
	c.fails(2, "migrate", "up", "-o", "receipt")
	c.fails(2, "migrate", "up", "--fields", "bogus").says(t, "bogus")
	if got := tableNames(t, url); got != "" {
		t.Errorf("a usage error created %s", got)
	}
}
