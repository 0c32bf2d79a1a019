package dbconn_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/pgnet"
	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/todo"
)

// Case C077: whatever exec mode a URL asks for, jsonb is stored digit for digit, and keys that other
// clients put into a URL break nothing.
func TestC077ExecModesOfTheURL(t *testing.T) {
	url := pgtest.Database(t)
	for _, mode := range []string{"exec", "simple_protocol", "cache_statement", "cache_describe", "describe_exec", ""} {
		t.Run(mode, func(t *testing.T) {
			o := dbconn.Options{URL: url}
			if mode != "" {
				o.URL = with(t, url, "default_query_exec_mode", mode, "pool_max_conns", "7", "pool_max_conn_lifetime", "1h",
					"keepalives_idle", "30", "statement_cache_capacity", "1", "gssencmode", "disable")
			}
			c := connect(t, o)
			const payload = `{"a": 12345678901234567890.10}`
			got := text(t, c, "INSERT INTO todos (queue, payload) VALUES ('q', $1::jsonb) RETURNING payload", payload)
			if got != payload {
				t.Errorf("stored %s, want %s", got, payload)
			}
			if n := text(t, c, "SELECT count(*)::text FROM pg_prepared_statements"); n != "0" {
				t.Errorf("%s prepared statements are left on the server, which a pooler hands to others", n)
			}
		})
	}
}

// Case C080: the answer to a commit is lost, or the request; the client cannot tell which.
func TestC080ConnectionDiesDuringCommit(t *testing.T) {
	url := pgtest.Database(t)
	direct := pgtest.Connect(t, url)
	p := pgnet.NewProxy(t, url)
	for _, c := range []struct {
		name string
		cut  func(string)
		rows string
	}{
		{"answer lost", p.CutAnswer, "1"},
		{"request lost", p.CutRequest, "0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, direct, "TRUNCATE todos CASCADE")
			before := p.Cuts()
			conn := connect(t, dbconn.Options{URL: p.URL()})
			c.cut("insert into todos")
			_, err := conn.Exec(t.Context(), "INSERT INTO todos (queue) VALUES ($1::text)", "q")
			refused(t, dbconn.WriteError(t.Context(), err), todo.CodeUnknown, "not known")
			refused(t, dbconn.ReadError(t.Context(), err), todo.CodeUnavailable, "lost", "try again")
			if p.Cuts() != before+1 {
				t.Error("the fault did not take place")
			}
			if got := text(t, direct, "SELECT count(*)::text FROM todos"); got != c.rows {
				t.Errorf("%s rows, want %s", got, c.rows)
			}
			// The connection is of no use any more, and nothing is sent on it.
			_, err = conn.Exec(t.Context(), "INSERT INTO todos (queue) VALUES ('q')")
			refused(t, dbconn.WriteError(t.Context(), err), todo.CodeUnavailable, "lost")
		})
	}
	t.Run("explicit commit", func(t *testing.T) {
		conn := connect(t, dbconn.Options{URL: p.URL()})
		p.CutAnswer("commit")
		err := pgx.BeginFunc(t.Context(), conn, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), "INSERT INTO todos (queue) VALUES ('explicit')")
			return err
		})
		refused(t, dbconn.WriteError(t.Context(), err), todo.CodeUnknown, "not known")
		if got := text(t, direct, "SELECT count(*)::text FROM todos WHERE queue = 'explicit'"); got != "1" {
			t.Errorf("%s rows, want 1", got)
		}
	})
}

// Case C080, by the server: a backend that is ended in the middle of a statement has rolled back, and
// says so; nothing is unknown then.
func TestC080BackendTerminated(t *testing.T) {
	url := pgtest.Database(t)
	direct := pgtest.Connect(t, url)
	conn := connect(t, dbconn.Options{URL: url, AppName: "victim"})
	errs := make(chan error)
	go func() {
		_, err := conn.Exec(t.Context(), "WITH s AS (SELECT pg_sleep(600)) INSERT INTO todos (queue) SELECT 'q' FROM s")
		errs <- err
	}()
	until(t, direct, "SELECT count(pg_terminate_backend(pid)) > 0 FROM pg_stat_activity WHERE application_name = 'victim' AND wait_event = 'PgSleep'")
	refused(t, dbconn.WriteError(t.Context(), <-errs), todo.CodeUnavailable)
	if got := text(t, direct, "SELECT count(*)::text FROM todos"); got != "0" {
		t.Errorf("%s rows, want 0", got)
	}
}

// until polls the server for a condition.
func until(t *testing.T, c *pgx.Conn, sql string) {
	t.Helper()
	for {
		var ok bool
		if err := c.QueryRow(t.Context(), sql).Scan(&ok); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if ok {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// Case C081: a read-only server answers reads, refuses writes with what to do, and is passed over
// where target_session_attrs asks for a writable one.
func TestC081ReadOnlyServer(t *testing.T) {
	url := pgtest.Database(t)
	role := ownRole(t, url, "default_transaction_read_only = on")
	run(t, pgtest.Connect(t, url), "GRANT ALL ON ALL TABLES IN SCHEMA public TO "+role)
	url = withUser(t, url, role)
	conn := connect(t, dbconn.Options{URL: url})
	if got := text(t, conn, "SELECT count(*)::text FROM todos"); got != "0" {
		t.Errorf("read: %s", got)
	}
	_, err := conn.Exec(t.Context(), "INSERT INTO todos (queue) VALUES ('q')")
	refused(t, dbconn.WriteError(t.Context(), err), todo.CodeUnavailable, "read-only", "target_session_attrs=read-write")
	_, err = dbconn.Connect(t.Context(), dbconn.Options{URL: with(t, url, "target_session_attrs", "read-write")})
	refused(t, err, todo.CodeUnavailable, "read-only", "target_session_attrs")
}

// Case C082: the limit that cut a statement short is named.
func TestC082TimeoutsOfTheRole(t *testing.T) {
	url := pgtest.Database(t)
	direct := pgtest.Connect(t, url)
	for setting, c := range map[string]struct {
		value string
		spoil func(*testing.T, *pgx.Conn) error
	}{
		"statement_timeout": {"1ms", func(t *testing.T, conn *pgx.Conn) error {
			_, err := conn.Exec(t.Context(), "SELECT pg_sleep(600)")
			return err
		}},
		"lock_timeout": {"1ms", func(t *testing.T, conn *pgx.Conn) error {
			run(t, direct, "BEGIN; LOCK TABLE todos")
			defer run(t, direct, "ROLLBACK")
			_, err := conn.Exec(t.Context(), "SELECT count(*) FROM todos")
			return err
		}},
		"idle_in_transaction_session_timeout": {"1ms", func(t *testing.T, conn *pgx.Conn) error {
			if _, err := conn.Exec(t.Context(), "BEGIN"); err != nil {
				return err
			}
			// Read, not asked: once the server has hung up a question cannot be sent, and why it did is not read either.
			_, err := conn.WaitForNotification(t.Context())
			return err
		}},
	} {
		t.Run(setting, func(t *testing.T) {
			role := ownRole(t, url, setting+" = '"+c.value+"'")
			run(t, direct, "GRANT ALL ON ALL TABLES IN SCHEMA public TO "+role)
			conn := connect(t, dbconn.Options{URL: withUser(t, url, role), AppName: "idler"})
			err := c.spoil(t, conn)
			refused(t, dbconn.WriteError(t.Context(), err), todo.CodeUnavailable, setting)
			refused(t, dbconn.ReadError(t.Context(), err), todo.CodeUnavailable, setting)
		})
	}
}

// Case C091: a schema other than public is said with --schema or in the URL, and wins over the role's.
func TestC091SchemaOtherThanPublic(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	role := ownRole(t, url, "search_path = elsewhere")
	run(t, pgtest.Connect(t, url), "CREATE SCHEMA ops; CREATE SCHEMA elsewhere; CREATE SCHEMA \"O'ps, \"\"2\"\"\";"+
		"GRANT ALL ON SCHEMA ops, elsewhere, \"O'ps, \"\"2\"\"\" TO "+role)
	url = withUser(t, url, role)
	for _, c := range []struct {
		o    dbconn.Options
		want string
	}{
		{dbconn.Options{URL: url}, "elsewhere"},
		{dbconn.Options{URL: url, Schema: "ops"}, "ops"},
		{dbconn.Options{URL: url, Schema: `O'ps, "2"`}, `O'ps, "2"`},
		{dbconn.Options{URL: with(t, url, "search_path", "ops")}, "ops"},
		{dbconn.Options{URL: with(t, url, "options", "-csearch_path=ops")}, "ops"},
		{dbconn.Options{URL: with(t, url, "search_path", "public"), Schema: "ops"}, "ops"},
		{dbconn.Options{URL: with(t, url, "options", "-csearch_path=public"), Schema: "ops"}, "ops"},
	} {
		conn := connect(t, c.o)
		if got := text(t, conn, "SELECT current_schema()::text"); got != c.want {
			t.Errorf("%v: in schema %s, want %s", c.o, got, c.want)
		}
		run(t, conn, "CREATE TABLE here ()")
		if got := text(t, conn, "SELECT count(*)::text FROM pg_tables WHERE tablename = 'here' AND schemaname = $1", c.want); got != "1" {
			t.Errorf("%v: the table went elsewhere", c.o)
		}
		run(t, conn, "DROP TABLE here")
	}
}

// Case C093: a host that does not answer costs the connect timeout, 10 s where none is said, and an
// interrupt ends the attempt at once.
func TestC093HostThatDoesNotAnswer(t *testing.T) {
	mute, accepted := pgnet.MuteListener(t)
	url := "postgres://todoctl@" + mute + "/todoctl"
	for i, sslmode := range []string{"disable", "prefer", "require"} {
		_, err := dbconn.Connect(t.Context(), dbconn.Options{URL: url + "?connect_timeout=1&sslmode=" + sslmode})
		refused(t, err, todo.CodeUnavailable, mute, "no answer within 1s")
		if i == 0 && len(accepted) != 1 {
			t.Errorf("dialled %d times", len(accepted))
		}
	}
	for timeout, want := range map[string]time.Duration{"": 10 * time.Second, "?connect_timeout=0": 10 * time.Second, "?connect_timeout=3": 3 * time.Second} {
		cfg, err := dbconn.ParseConfig(dbconn.Options{URL: url + timeout})
		if err != nil || cfg.ConnectTimeout != want {
			t.Errorf("%q: connect timeout %v, %v, want %v", timeout, cfg.ConnectTimeout, err, want)
		}
	}

	for len(accepted) > 0 {
		<-accepted
	}
	ctx, interrupt := context.WithCancel(t.Context())
	go func() { <-accepted; interrupt() }()
	_, err := dbconn.Connect(ctx, dbconn.Options{URL: url + "?connect_timeout=600"})
	refused(t, err, todo.CodeInterrupted)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the cause is lost: %v", err)
	}

	gone := pgnet.DeadPort(t)
	_, err = dbconn.Connect(t.Context(), dbconn.Options{URL: "postgres://todoctl@" + gone + "/todoctl"})
	refused(t, err, todo.CodeUnavailable, gone, "refused")

	cfg, err := dbconn.ParseConfig(dbconn.Options{URL: "postgres://todoctl@nohost.invalid/todoctl"})
	if err != nil {
		t.Fatal(err)
	}
	cfg.LookupFunc = func(_ context.Context, host string) ([]string, error) {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	_, err = dbconn.ConnectConfig(t.Context(), cfg)
	refused(t, err, todo.CodeUnavailable, "nohost.invalid:5432", "does not resolve")

	// Of several hosts each is named with its own reason.
	_, err = dbconn.Connect(t.Context(), dbconn.Options{URL: "postgres://todoctl@" + gone + "," + mute + "/todoctl?connect_timeout=1"})
	refused(t, err, todo.CodeUnavailable, gone+", "+mute, "refused", "no answer within 1s")
}

// Case C094: verify-full refuses a wrong authority, a wrong name, a missing file and a server without
// TLS, says which it is, and never goes on in clear.
func TestC094VerifyFull(t *testing.T) {
	s := pgnet.NewServer(t)
	run(t, pgtest.Connect(t, s.SocketURL("postgres")), "CREATE ROLE todoctl LOGIN PASSWORD 'pw'")
	good, bad := pgnet.NewAuthority(t, "good"), pgnet.NewAuthority(t, "bad")
	ca, wrong := file(t, "ca.pem", good.PEM, 0o644), file(t, "wrong.pem", bad.PEM, 0o644)
	base := "postgres://todoctl:pw@127.0.0.1:" + s.Port + "/postgres"

	_, err := dbconn.Connect(t.Context(), dbconn.Options{URL: with(t, base, "sslmode", "verify-full", "sslrootcert", ca)})
	refused(t, err, todo.CodeUnavailable, "TLS", "does not offer", "nothing was sent in clear")

	cert, key := good.Server(t, "db.example", "127.0.0.1")
	s.UseTLS(t, cert, key)
	conn := connect(t, dbconn.Options{URL: with(t, base, "sslmode", "verify-full", "sslrootcert", ca)})
	if got := text(t, conn, "SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()"); got != "true" {
		t.Error("the connection is in clear")
	}
	_, err = dbconn.Connect(t.Context(), dbconn.Options{URL: with(t, base, "sslmode", "verify-full", "sslrootcert", wrong)})
	refused(t, err, todo.CodeUnavailable, "TLS", "unknown authority")
	_, err = dbconn.Connect(t.Context(), dbconn.Options{URL: with(t, base, "sslmode", "verify-ca", "sslrootcert", wrong)})
	refused(t, err, todo.CodeUnavailable, "TLS", "unknown authority")
	_, err = dbconn.Connect(t.Context(), dbconn.Options{URL: with(t, base, "sslmode", "verify-full", "sslrootcert", "/nonexistent/ca.pem")})
	refused(t, err, todo.CodeUnavailable, "TLS", "/nonexistent/ca.pem")
	_, err = dbconn.Connect(t.Context(), dbconn.Options{URL: with(t, base, "sslmode", "verify-full", "sslrootcert", file(t, "junk.pem", []byte("junk"), 0o644))})
	refused(t, err, todo.CodeUnavailable, "TLS")

	cert, key = good.Server(t, "db.example")
	s.UseTLS(t, cert, key)
	_, err = dbconn.Connect(t.Context(), dbconn.Options{URL: with(t, base, "sslmode", "verify-full", "sslrootcert", ca)})
	refused(t, err, todo.CodeUnavailable, "TLS", "127.0.0.1")
	if err != nil && strings.Contains(err.Error(), "pw") {
		t.Errorf("a secret is told: %v", err)
	}
}
