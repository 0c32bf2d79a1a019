package dbconn_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/todo"
)

func TestServerErrorsHaveACodeAndAHint(t *testing.T) {
	for state, want := range map[string]struct {
		code todo.Code
		says string
	}{
		"42P01": {todo.CodeSchema, "todoctl migrate up"}, "42703": {todo.CodeSchema, "todoctl migrate up"},
		"3F000": {todo.CodeSchema, "todoctl migrate up"}, "42P10": {todo.CodeSchema, "todoctl migrate up"},
		"42501": {todo.CodeDenied, "grant"}, "28P01": {todo.CodeDenied, "password"}, "28000": {todo.CodeDenied, "pg_hba"},
		"25006": {todo.CodeUnavailable, "target_session_attrs"}, "57014": {todo.CodeUnavailable, "statement_timeout"},
		"55P03": {todo.CodeUnavailable, "lock_timeout"}, "25P03": {todo.CodeUnavailable, "idle_in_transaction_session_timeout"},
		"25P04": {todo.CodeUnavailable, "transaction_timeout"}, "57P05": {todo.CodeUnavailable, "idle_session_timeout"},
		"57P01": {todo.CodeUnavailable, "try again"}, "57P03": {todo.CodeUnavailable, "try again"},
		"53300": {todo.CodeUnavailable, "max_connections"}, "53100": {todo.CodeUnavailable, "try again"},
		"3D000": {todo.CodeUnavailable, "createdb"}, "42P05": {todo.CodeUnavailable, "max_prepared_statements"},
		"26000": {todo.CodeUnavailable, "PgBouncer"}, "40001": {todo.CodeUnavailable, "try again"},
		"22P02": {todo.CodeData, `\u0000`}, "22P05": {todo.CodeData, `\u0000`}, "54001": {todo.CodeData, "nested"},
		"22003": {todo.CodeData, ""}, "23514": {todo.CodeData, ""}, "54000": {todo.CodeData, ""},
		"XX000": {todo.CodeInternal, ""}, "": {todo.CodeInternal, ""},
	} {
		err := fmt.Errorf("query: %w", &pgconn.PgError{Code: state, Message: "what the server said"})
		for _, f := range []func(context.Context, error) error{dbconn.ReadError, dbconn.WriteError} {
			got := f(t.Context(), err)
			refused(t, got, want.code, "what the server said", want.says)
			if !errors.Is(got, err) {
				t.Errorf("%s: the cause is lost", state)
			}
		}
	}
	refused(t, dbconn.ReadError(t.Context(), &pgconn.PgError{Code: "XX001"}), todo.CodeInternal, "without a reason")
}

// A pooler speaks for a server that it lost: of a write nobody knows then. What it refuses before it
// found a server has not happened.
func TestPoolerErrorsOfAWrite(t *testing.T) {
	lost := &pgconn.PgError{Severity: "FATAL", Code: "08P01", Message: "server conn crashed?"}
	refused(t, dbconn.WriteError(t.Context(), lost), todo.CodeUnknown, "server conn crashed?")
	refused(t, dbconn.ReadError(t.Context(), lost), todo.CodeUnavailable)
	for _, message := range []string{"query_wait_timeout", "unsupported startup parameter: search_path", "no more connections allowed"} {
		err := &pgconn.PgError{Severity: "FATAL", Code: "08P01", Message: message}
		refused(t, dbconn.WriteError(t.Context(), err), todo.CodeUnavailable, message, "PgBouncer")
	}
}

func TestErrorsThatPassThrough(t *testing.T) {
	known := &todo.Error{Code: todo.CodeConflict, Message: "held by w1"}
	for _, err := range []error{nil, known} {
		if got := dbconn.WriteError(t.Context(), err); got != err {
			t.Errorf("%v became %v", err, got)
		}
		if got := dbconn.WithRole(err, nil); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
	refused(t, dbconn.WriteError(t.Context(), errors.New("cannot scan")), todo.CodeInternal, "cannot scan")
}

func TestRetryable(t *testing.T) {
	for state, want := range map[string]bool{"40P01": true, "40001": true, "23505": false} {
		if got := dbconn.Retryable(fmt.Errorf("x: %w", &pgconn.PgError{Code: state})); got != want {
			t.Errorf("%s: %v", state, got)
		}
	}
}

func TestDeniedNamesTheRoleAndTheGrant(t *testing.T) {
	url := pgtest.Database(t)
	role := ownRole(t, url)
	conn := connect(t, dbconn.Options{URL: withUser(t, url, role)})
	_, err := conn.Exec(t.Context(), "SELECT id FROM todos")
	err = dbconn.WithRole(dbconn.ReadError(t.Context(), err), conn.Config())
	refused(t, err, todo.CodeDenied, "todos", role, `GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "`+role+`"`)
}

// An interrupt cancels the statement on the server, keeps the connection, and knows the outcome.
func TestCancelReachesTheServer(t *testing.T) {
	url := pgtest.Database(t)
	watch := pgtest.Connect(t, url)
	conn := connect(t, dbconn.Options{URL: url, AppName: "sleeper"})
	for cause, want := range map[error]todo.Code{
		nil: todo.CodeInterrupted,
		&todo.Error{Code: todo.CodeTimeout, Message: "--timeout ran out"}: todo.CodeTimeout,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		errs := make(chan error)
		go func() {
			_, err := conn.Exec(ctx, "WITH s AS (SELECT pg_sleep(600)) INSERT INTO todos (queue) SELECT 'q' FROM s")
			errs <- err
		}()
		until(t, watch, "SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = 'sleeper' AND wait_event = 'PgSleep'")
		cancel(cause)
		refused(t, dbconn.WriteError(ctx, <-errs), want)
		if got := text(t, watch, "SELECT count(*)::text FROM pg_stat_activity WHERE application_name = 'sleeper' AND wait_event = 'PgSleep'"); got != "0" {
			t.Error("the statement goes on without us")
		}
		if got := text(t, conn, "SELECT count(*)::text FROM todos"); got != "0" {
			t.Errorf("%s rows on a connection that should be as good as new", got)
		}
	}
}

// What a role sets must not change how results are read.
func TestSettingsOfTheRoleDoNotChangeHowResultsRead(t *testing.T) {
	url := pgtest.Database(t)
	role := ownRole(t, url, "datestyle = 'German'", "timezone = 'Asia/Kolkata'", "client_encoding = 'latin1'")
	conn := connect(t, dbconn.Options{URL: with(t, withUser(t, url, role), "TimeZone", "Asia/Kolkata", "DateStyle", "German")})
	if got := text(t, conn, "SELECT '2026-12-01 10:00:00+00'::timestamptz::text || ' ä €'"); got != "2026-12-01 10:00:00+00 ä €" {
		t.Error(got)
	}
}

func TestApplicationName(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	for _, c := range []struct {
		o    dbconn.Options
		want string
	}{
		{dbconn.Options{URL: url, AppName: "todoctl claim"}, "todoctl claim"},
		{dbconn.Options{URL: with(t, url, "application_name", "mine"), AppName: "todoctl claim"}, "mine"},
	} {
		if got := text(t, connect(t, c.o), "SHOW application_name"); got != c.want {
			t.Errorf("application_name %q, want %q", got, c.want)
		}
	}
}

func TestUnknownKeys(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	_, err := dbconn.Connect(t.Context(), dbconn.Options{URL: with(t, url, "no_such_setting", "1"), Source: "DATABASE_URL"})
	refused(t, err, todo.CodeUsage, "no_such_setting")
	for _, key := range []string{"hostaddr", "sslcrl", "requirepeer", "ssl_min_protocol_version"} {
		_, err := dbconn.ParseConfig(dbconn.Options{URL: with(t, url, key, "x"), Source: "DATABASE_URL"})
		refused(t, err, todo.CodeUsage, key, "DATABASE_URL")
	}
	_, err = dbconn.Connect(t.Context(), dbconn.Options{URL: with(t, url, "dbname", "no_such_database")})
	refused(t, err, todo.CodeUnavailable, "no_such_database", "createdb")
	_, err = dbconn.Connect(t.Context(), dbconn.Options{URL: withUser(t, url, "no_such_role")})
	refused(t, err, todo.CodeDenied, "no_such_role")
}
