// Package migrate brings a schema to the version that this binary was built with, and back. It runs
// dbmate's files through dbmate, and adds what dbmate lacks: a lock, a fixed schema, cancellation,
// errors that name file and line, and a look at what is there before anything is changed.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/amacneil/dbmate/v2/pkg/dbmate"
	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/db"
	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/todo"
)

// Table records the versions, in the schema that they were applied to.
const Table = "todoctl_migrations"

// created marks a schema that Up made, so that Down knows that it may go again.
const created = "made by todoctl migrate up"

// Migrator moves one schema of one database between versions.
type Migrator struct {
	cfg    *pgx.ConnConfig
	schema string // "" = the first of the server's search_path
	note   func(string)
}

// Result says what Up or Down did.
type Result struct {
	Schema  string   `json:"schema"`
	Version string   `json:"version"` // the version that the schema is at now; "" for none
	Applied []string `json:"applied"` // versions that Up applied
	Undone  []string `json:"undone"`  // versions that Down undid
	Rebuilt []string `json:"rebuilt"` // invalid indexes that Up built again
}

// New makes a Migrator. A schema overrides the search_path of cfg. Lines of progress go to note.
func New(cfg *pgx.ConnConfig, schema string, note func(string)) *Migrator {
	if note == nil {
		note = func(string) {}
	}
	return &Migrator{cfg: cfg.Copy(), schema: schema, note: note}
}

// Up applies what is pending, and builds invalid indexes again. It changes nothing beside tables of
// the same names that are not ours, and nothing in a schema that is newer than this binary.
func (m *Migrator) Up(ctx context.Context) (Result, error) {
	return m.locked(ctx, func(s *session) (Result, error) {
		r := Result{Schema: s.schema, Applied: []string{}, Undone: []string{}, Rebuilt: []string{}}
		before, err := s.status(ctx)
		if err != nil {
			return r, err
		}
		if err := before.Refused(); err != nil {
			return r, err
		}
		if len(before.Pending) > 0 {
			if err := s.prepare(ctx); err != nil {
				return r, err
			}
			if err := s.run(ctx, (*dbmate.DB).Migrate); err != nil {
				return r, err
			}
			r.Applied = before.Pending
		}
		for _, index := range before.InvalidIndexes {
			m.note("building index " + index + " again, which was left invalid")
			if err := s.rebuild(ctx, index); err != nil {
				return r, err
			}
			r.Rebuilt = append(r.Rebuilt, index)
		}
		r.Version = Latest()
		return r, nil
	})
}

// Down undoes the newest migration, or with all every one and all else that Up made. Rows go with
// their tables.
func (m *Migrator) Down(ctx context.Context, all bool) (Result, error) {
	return m.locked(ctx, func(s *session) (Result, error) {
		before, err := s.status(ctx)
		if err != nil {
			return Result{}, err
		}
		if len(before.Unknown) > 0 {
			return Result{}, before.tooNew()
		}
		r := before.Down(all)
		for range r.Undone {
			if err := s.run(ctx, (*dbmate.DB).Rollback); err != nil {
				return Result{}, err
			}
		}
		if all {
			return r, s.removeRest(ctx)
		}
		return r, nil
	})
}

// prepare makes the schema where it is missing, and finds out before anything is created whether the
// role may create tables in it: half a schema would be worse than none.
func (s *session) prepare(ctx context.Context) error {
	var exists, mayTable, maySchema bool
	var role, database string
	err := s.work.QueryRow(ctx, `
		SELECT n.oid IS NOT NULL,
		       coalesce(has_schema_privilege(n.oid, 'CREATE') AND has_schema_privilege(n.oid, 'USAGE'), false),
		       has_database_privilege(current_database(), 'CREATE'), current_user::text, current_database()::text
		FROM (SELECT 1) one LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = $1::text`, s.schema).
		Scan(&exists, &mayTable, &maySchema, &role, &database)
	if err != nil {
		return dbconn.ReadError(ctx, err)
	}
	quoted, who := pgx.Identifier{s.schema}.Sanitize(), pgx.Identifier{role}.Sanitize()
	switch {
	case exists && !mayTable:
		return todo.Errorf(todo.CodeDenied, "role %s may not create tables in schema %s", role, s.schema).
			WithHint("ask its owner for: GRANT USAGE, CREATE ON SCHEMA %s TO %s; or name a --schema of your own", quoted, who)
	case !exists && !maySchema:
		return todo.Errorf(todo.CodeDenied, "role %s may not create schema %s in database %s", role, s.schema, database).
			WithHint("ask an administrator for: CREATE SCHEMA %s AUTHORIZATION %s", quoted, who)
	case exists:
		return nil
	}
	s.note("creating schema " + s.schema)
	_, err = s.work.Exec(ctx, "CREATE SCHEMA "+quoted+"; COMMENT ON SCHEMA "+quoted+" IS '"+created+"'")
	return dbconn.WriteError(ctx, err)
}

// removeRest drops the table of versions, and the schema where Up made it and nothing else is in it.
func (s *session) removeRest(ctx context.Context) error {
	quoted := pgx.Identifier{s.schema}.Sanitize()
	if _, err := s.work.Exec(ctx, "DROP TABLE IF EXISTS "+pgx.Identifier{s.schema, Table}.Sanitize()); err != nil {
		return dbconn.WriteError(ctx, err)
	}
	var empty bool
	err := s.work.QueryRow(ctx, `
		SELECT NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
		                   WHERE d.refclassid = 'pg_catalog.pg_namespace'::regclass AND d.refobjid = n.oid)
		FROM pg_catalog.pg_namespace n
		WHERE n.nspname = $1::text AND obj_description(n.oid, 'pg_namespace') = $2::text`,
		s.schema, created).Scan(&empty)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return dbconn.ReadError(ctx, err)
	}
	if !empty {
		return nil
	}
	s.note("dropping schema " + s.schema)
	_, err = s.work.Exec(ctx, "DROP SCHEMA "+quoted)
	return dbconn.WriteError(ctx, err)
}

// rebuild builds one index again without holding up writers. What an interrupted REINDEX left behind
// is dropped instead: it is a copy that nothing uses.
func (s *session) rebuild(ctx context.Context, index string) error {
	quoted := pgx.Identifier{s.schema, index}.Sanitize()
	statement := "REINDEX INDEX CONCURRENTLY " + quoted
	if strings.Contains(index, "_ccnew") || strings.Contains(index, "_ccold") {
		statement = "DROP INDEX CONCURRENTLY " + quoted
	}
	_, err := s.work.Exec(ctx, statement)
	if err == nil {
		return nil
	}
	e := asTodo(dbconn.WriteError(ctx, err))
	if e.Code == todo.CodeData { // rows that the index does not allow came in while it was invalid
		e.Code = todo.CodeSchema
		e.Hint = "rows break the rule of this index; remove what is double, then: todoctl migrate up"
	}
	e.Message = fmt.Sprintf("index %s cannot be built again: %s", index, e.Message)
	return e
}

// run has dbmate do one step. Its log is our session, which learns from it which file is in progress.
func (s *session) run(ctx context.Context, step func(*dbmate.DB) error) error {
	mate := dbmate.New(&url.URL{Scheme: scheme})
	mate.FS, mate.MigrationsDir = db.Migrations, []string{"migrations"}
	mate.MigrationsTableName = Table
	mate.AutoDumpSchema, mate.Strict = false, true // a dump would be written into the user's directory
	mate.Log = s
	s.ctx = ctx
	err := step(mate)
	if err == nil {
		return nil
	}
	e := asTodo(dbconn.WriteError(ctx, err))
	if e.Code == todo.CodeUnknown {
		e.Hint = "find out with: todoctl migrate status"
	}
	if s.file != "" {
		e.Message = s.file + ": " + e.Message
	}
	return e
}

func asTodo(err error) *todo.Error {
	var e *todo.Error
	if errors.As(err, &e) {
		c := *e
		return &c
	}
	return &todo.Error{Code: todo.CodeInternal, Message: err.Error(), Err: err}
}

//go:generate go test -run ^TestSchemaFile$ . -args -update

// Latest returns the newest version that this binary knows.
func Latest() string {
	v := versions()
	return v[len(v)-1]
}

// versions lists the embedded migrations in order.
func versions() []string {
	names := files()
	for i, name := range names {
		names[i], _, _ = strings.Cut(name, "_")
	}
	return names
}

func files() []string {
	entries, err := db.Migrations.ReadDir("migrations")
	if err != nil {
		panic(err) // embedded at build time: it is there
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names
}

// tables lists the tables that the migrations make.
func tables() ([]string, error) {
	create := regexp.MustCompile(`(?im)^CREATE (?:UNLOGGED )?TABLE (\w+)`)
	var list []string
	for _, name := range files() {
		b, err := db.Migrations.ReadFile("migrations/" + name)
		if err != nil {
			return nil, err
		}
		for _, m := range create.FindAllSubmatch(b, -1) {
			list = append(list, string(m[1]))
		}
	}
	return list, nil
}
