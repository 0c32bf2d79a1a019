package migrate

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/amacneil/dbmate/v2/pkg/dbmate"
	"github.com/amacneil/dbmate/v2/pkg/dbutil"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/todo"
)

const scheme = "todoctl"

// dbmate keeps its drivers in a map without a lock, so ours is entered once, before anything runs.
// The driver has no state: each step hands its session over as dbmate's log.
var _ = register()

func register() struct{} {
	dbmate.RegisterDriver(func(c dbmate.DriverConfig) dbmate.Driver {
		s, _ := c.Log.(*session)
		return mateDriver{s}
	}, scheme)
	return struct{}{}
}

// mateDriver is dbmate's view of a session: the same config as every other command, so that no URL
// is read twice, and a context, which dbmate itself does not know.
type mateDriver struct{ s *session }

func (d mateDriver) Open() (*sql.DB, error) {
	return sql.OpenDB(connector{stdlib.GetConnector(*d.s.cfg), d.s}), nil
}

func (d mateDriver) Ping() error                   { return nil }
func (d mateDriver) DatabaseExists() (bool, error) { return true, nil }
func (d mateDriver) CreateDatabase() error         { return errors.ErrUnsupported }
func (d mateDriver) DropDatabase() error           { return errors.ErrUnsupported }

func (d mateDriver) DumpSchema(*sql.DB, ...string) ([]byte, error) {
	return nil, errors.ErrUnsupported
}

func (d mateDriver) table() string { return pgx.Identifier{d.s.schema, Table}.Sanitize() }

func (d mateDriver) MigrationsTableExists(db *sql.DB) (exists bool, err error) {
	err = db.QueryRowContext(d.s.ctx, "SELECT to_regclass($1::text) IS NOT NULL", d.table()).Scan(&exists)
	return exists, err
}

func (d mateDriver) CreateMigrationsTable(db *sql.DB) error {
	_, err := db.ExecContext(d.s.ctx, createTable(d.table()))
	return err
}

// createTable is one statement for both ways to migrate: here and in the printed script.
func createTable(name string) string {
	return "CREATE TABLE IF NOT EXISTS " + name + " (version text PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
}

func (d mateDriver) SelectMigrations(db *sql.DB, _ int) (map[string]bool, error) {
	rows, err := db.QueryContext(d.s.ctx, "SELECT version FROM "+d.table())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	applied := map[string]bool{}
	for rows.Next() {
		var v string
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		applied[v] = true
	}
	return applied, rows.Err()
}

func (d mateDriver) InsertMigration(tx dbutil.Transaction, version string) error {
	_, err := tx.Exec("INSERT INTO "+d.table()+" (version) VALUES ($1::text)", version)
	return err
}

func (d mateDriver) DeleteMigration(tx dbutil.Transaction, version string) error {
	_, err := tx.Exec("DELETE FROM "+d.table()+" WHERE version = $1::text", version)
	return err
}

// QueryError names the line: dbmate would give one only now and then, and never a hint.
func (d mateDriver) QueryError(query string, err error) error {
	e := asTodo(dbconn.WriteError(d.s.ctx, err))
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return e
	}
	if at := int(pg.Position); at > 0 && at <= len([]rune(query)) {
		before := string([]rune(query)[:at-1])
		e.Message = fmt.Sprintf("line %d of the section: %s", strings.Count(before, "\n")+1, e.Message)
	}
	if pg.Code == "42P07" {
		e.Code, e.Hint = todo.CodeSchema, "something of that name is in the way; rename it, or keep todoctl's apart with --schema todoctl"
	}
	if pg.Detail != "" {
		e.Message += "; " + pg.Detail
	}
	return e
}

// connector makes connections whose statements all run under the session's context, so that an
// interrupt reaches the statement on the server.
type connector struct {
	driver.Connector
	s *session
}

func (c connector) Connect(context.Context) (driver.Conn, error) {
	raw, err := c.Connector.Connect(c.s.ctx)
	if err != nil {
		return nil, err
	}
	conn, ok := raw.(*stdlib.Conn)
	if !ok {
		return nil, fmt.Errorf("unexpected connection %T", raw)
	}
	return boundConn{conn, c.s.ctx}, nil
}

type boundConn struct {
	*stdlib.Conn
	ctx context.Context
}

func (c boundConn) BeginTx(_ context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return c.Conn.BeginTx(c.ctx, opts)
}

func (c boundConn) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return c.Conn.ExecContext(c.ctx, query, args)
}

func (c boundConn) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return c.Conn.QueryContext(c.ctx, query, args)
}
