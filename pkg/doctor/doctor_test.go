package doctor

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// visit examines a database and returns the findings by check.
func visit(t *testing.T, url string) map[string]Finding {
	t.Helper()
	cfg, err := dbconn.ParseConfig(dbconn.Options{URL: url, AppName: "todoctl doctor"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := Examine(context.Background(), cfg, "")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]Finding{}
	for _, f := range list {
		found[f.Check] = f
	}
	if len(found) != len(checks()) {
		t.Fatalf("%d findings of %d checks", len(found), len(checks()))
	}
	return found
}

func run(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, sql := range statements {
		if _, err := conn.Exec(context.Background(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

func TestHealthyDatabase(t *testing.T) {
	for name, f := range visit(t, pgtest.Database(t)) {
		if f.Status != OK {
			t.Errorf("%s: %s: %s", name, f.Status, f.Message)
		}
	}
}

func TestEachFaultIsFoundWithItsRemedy(t *testing.T) {
	for _, fault := range []struct {
		name, check string
		make        []string
		status      Status
		advice      string
	}{
		{"missing index", "indexes", []string{"DROP INDEX idx_todos_pool"}, Critical, "db/schema.sql"},
		{"invalid index", "indexes", []string{"UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'idx_todos_dedupe'::regclass"}, Critical, "todoctl migrate up"},
		{"invalid index, by the schema check", "schema", []string{"UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'idx_todos_dedupe'::regclass"}, Critical, "migrate up"},
		{"newer schema", "schema", []string{"INSERT INTO todoctl_migrations VALUES ('99990101000000')"}, Critical, "upgrade todoctl"},
		{"autovacuum off for the table", "autovacuum", []string{"ALTER TABLE todos SET (autovacuum_enabled = off)"}, Critical, "ALTER TABLE"},
		{"vacuum settings lost", "autovacuum", []string{"ALTER TABLE todos RESET (autovacuum_vacuum_scale_factor)"}, Warning, "autovacuum_vacuum_scale_factor"},
		{"nobody reaps", "expired-leases", []string{`INSERT INTO queues (name) VALUES ('q')`,
			`INSERT INTO todos (queue, state, owner, lease_expires_at, attempt, lease_seq) VALUES ('q', 'claimed', 'w', now() - interval '1 h', 1, 1)`}, Warning, "reap"},
	} {
		t.Run(fault.name, func(t *testing.T) {
			url := pgtest.Database(t)
			run(t, pgtest.Connect(t, url), fault.make...)
			f := visit(t, url)[fault.check]
			if f.Status != fault.status || !strings.Contains(f.Advice, fault.advice) {
				t.Errorf("%+v", f)
			}
		})
	}
}

func TestClaimPlanWithoutItsIndex(t *testing.T) {
	url := pgtest.Database(t)
	run(t, pgtest.Connect(t, url), `INSERT INTO todos (queue) SELECT 'q' FROM generate_series(1, 20000)`, "DROP INDEX idx_todos_pool",
		"ANALYZE todos", "SELECT pg_stat_force_next_flush()")
	if f := visit(t, url)["claim-plan"]; f.Status != Critical {
		t.Errorf("%+v", f)
	}
}

// What a role may not see is unknown, and the rest is still answered.
func TestRoleWithoutRights(t *testing.T) {
	url := pgtest.Database(t)
	conn := pgtest.Connect(t, url)
	run(t, conn, "DROP ROLE IF EXISTS doctor_guest", "CREATE ROLE doctor_guest")
	t.Cleanup(func() { run(t, conn, "DROP ROLE doctor_guest") })
	cfg, err := dbconn.ParseConfig(dbconn.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	cfg.RuntimeParams["role"] = "doctor_guest"
	list, err := Examine(context.Background(), cfg, "")
	if err != nil {
		t.Fatal(err)
	}
	unknown := 0
	for _, f := range list {
		if f.Status == Unknown {
			unknown++
		}
	}
	if unknown == 0 || unknown == len(list) || Worst(list) == OK {
		t.Errorf("%d of %d unknown: %+v", unknown, len(list), list)
	}
}

func TestHolderIsJudgedByAgeAndNamedWithItsEnd(t *testing.T) {
	seconds, xids := func(s float64) *float64 { return &s }, func(n int64) *int64 { return &n }
	for _, c := range []struct {
		h    holder
		want Status
		end  string
	}{
		{holder{kind: "transaction", name: "17", seconds: seconds(5), xids: xids(10)}, OK, "pg_terminate_backend(17)"},
		{holder{kind: "transaction", name: "17", seconds: seconds(61)}, Warning, "pg_terminate_backend(17)"},
		{holder{kind: "prepared transaction", name: "a'b", seconds: seconds(601)}, Critical, "ROLLBACK PREPARED 'a''b'"},
		{holder{kind: "replication slot", name: "s", xids: xids(2_000_000)}, Critical, "pg_drop_replication_slot('s')"},
		{holder{kind: "standby feedback", name: "s", xids: xids(200_000)}, Warning, "hot_standby_feedback"},
	} {
		if got := c.h.status(); got != c.want || !strings.Contains(c.h.end(), c.end) {
			t.Errorf("%+v: %s, %s", c.h, got, c.h.end())
		}
	}
}

func TestOpenTransactionIsNamed(t *testing.T) {
	url := pgtest.Database(t)
	conn := pgtest.Connect(t, url)
	run(t, conn, "SET application_name = 'forgotten'", "BEGIN ISOLATION LEVEL REPEATABLE READ", "SELECT 1 FROM todos")
	if f := visit(t, url)["snapshots"]; !strings.Contains(f.Message, "forgotten") {
		t.Errorf("%+v", f)
	}
}
