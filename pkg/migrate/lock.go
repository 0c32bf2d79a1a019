package migrate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/dbconn"
)

// pollEvery is how often a waiting migrator asks for the lock. It never blocks in the server: a
// blocked waiter holds a snapshot, which CREATE INDEX CONCURRENTLY waits for in turn.
const pollEvery = 200 * time.Millisecond

// lockClass is the first half of the advisory lock; the second is a hash of the schema's name.
const lockClass = 0x746f646f // "todo"

// session is one run under the lock: a connection that holds the lock, one that works, and what
// dbmate's steps need to know.
type session struct {
	cfg    *pgx.ConnConfig // search_path set to schema
	schema string
	note   func(string)
	lock   *pgx.Conn
	work   *pgx.Conn
	ctx    context.Context // of the step that runs; dbmate passes none
	file   string          // migration in progress
	lifted bool            // we set statement_timeout
}

// Write takes dbmate's log, which names the file that it begins with.
func (s *session) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		verb, file, ok := bytes.Cut(bytes.TrimSpace(line), []byte(": "))
		if ok && (string(verb) == "Applying" || string(verb) == "Rolling back") {
			s.file = string(file)
			s.note(string(bytes.ToLower(verb)) + " " + s.file)
		}
	}
	return len(p), nil
}

// open connects for work in the schema that is meant.
func (m *Migrator) open(ctx context.Context) (*session, error) {
	s := &session{cfg: m.cfg.Copy(), schema: m.schema, note: m.note}
	if s.cfg.RuntimeParams["statement_timeout"] == "" { // a URL that says one means it
		s.cfg.RuntimeParams["statement_timeout"], s.lifted = "0", true
	}
	if s.schema != "" {
		s.cfg.RuntimeParams["search_path"] = pgx.Identifier{s.schema}.Sanitize()
	}
	conn, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	s.work = conn
	if s.schema == "" {
		// The first schema of the path that is not "$user" without such a schema: it may be missing
		// or closed to this role, and then current_schema() would tell of a later one, or of none.
		err = conn.QueryRow(ctx, `
			SELECT name FROM unnest(string_to_array(current_setting('search_path'), ',')) WITH ORDINALITY AS p(entry, pos),
			LATERAL (SELECT CASE WHEN trim(entry) IN ('"$user"', '$user') THEN current_user::text
			                     WHEN trim(entry) LIKE '"%"' THEN replace(substr(trim(entry), 2, length(trim(entry)) - 2), '""', '"')
			                     ELSE trim(entry) END) AS n(name)
			WHERE name NOT IN ('', 'pg_catalog', 'pg_temp')
			  AND (trim(entry) NOT IN ('"$user"', '$user') OR EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = name))
			ORDER BY pos LIMIT 1`).Scan(&s.schema)
		if errors.Is(err, pgx.ErrNoRows) {
			s.schema, err = "public", nil
		}
		if err != nil {
			dbconn.Close(conn)
			return nil, dbconn.ReadError(ctx, err)
		}
		s.cfg.RuntimeParams["search_path"] = pgx.Identifier{s.schema}.Sanitize()
	}
	return s, nil
}

// connect lifts the role's statement_timeout: a migration takes the time that it takes. It must be a
// startup parameter, since a statement that sets it may be cut short itself. A pooler refuses that
// one, and then the limit stays.
func (s *session) connect(ctx context.Context) (*pgx.Conn, error) {
	const limit = "statement_timeout"
	conn, err := dbconn.ConnectConfig(ctx, s.cfg)
	if err != nil && s.lifted && strings.Contains(err.Error(), "unsupported startup parameter: "+limit) {
		s.note("a pooler is in between; a direct connection is better for migrations")
		delete(s.cfg.RuntimeParams, limit)
		s.lifted = false
		return dbconn.ConnectConfig(ctx, s.cfg)
	}
	return conn, err
}

func (s *session) close() {
	dbconn.Close(s.lock)
	dbconn.Close(s.work)
}

// locked runs f while no other migrator works on the same schema.
func (m *Migrator) locked(ctx context.Context, f func(*session) (Result, error)) (Result, error) {
	s, err := m.open(ctx)
	if err != nil {
		return Result{}, err
	}
	defer s.close()
	if s.lock, err = s.connect(ctx); err != nil {
		return Result{}, err
	}
	if err := s.acquire(ctx); err != nil {
		return Result{}, err
	}
	return f(s)
}

// acquire takes the lock in a transaction that then stays idle, so that it also holds through a
// pooler in transaction mode and is gone with the connection. In read committed an idle transaction
// has no snapshot, and no concurrent index build waits for it.
func (s *session) acquire(ctx context.Context) error {
	told := ""
	for {
		var got bool
		var holder *string
		tx, err := s.lock.Begin(ctx)
		if err == nil {
			err = tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1::int4, hashtext($2::text))", lockClass, s.schema).Scan(&got)
		}
		if err == nil && got {
			_, err = tx.Exec(ctx, `SELECT set_config(name, '0', true) FROM pg_catalog.pg_settings
				WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')`)
			return dbconn.ReadError(ctx, err)
		}
		if err == nil {
			holder, err = s.holder(ctx, tx)
		}
		if err == nil {
			err = tx.Rollback(ctx)
		}
		if err != nil {
			return dbconn.ReadError(ctx, err)
		}
		if holder != nil && *holder != told {
			told = *holder
			s.note("waiting for another migration: " + told)
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			e := asTodo(dbconn.ReadError(ctx, ctx.Err()))
			if told != "" {
				e.Message = fmt.Sprintf("another migration holds the lock: %s", told)
				e.Hint = "wait for it, or end it with: SELECT pg_terminate_backend(PID)"
			}
			return e
		}
	}
}

// holder describes the session that has the lock.
func (s *session) holder(ctx context.Context, tx pgx.Tx) (*string, error) {
	var text *string
	err := tx.QueryRow(ctx, `
		SELECT concat_ws(' ', 'pid', l.pid, 'of', a.usename, 'from', coalesce(a.client_addr::text, 'this host'),
		                 '(' || nullif(a.application_name, '') || ')',
		                 'since', to_char(a.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
		FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
		WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
		  AND l.database = (SELECT oid FROM pg_catalog.pg_database WHERE datname = current_database())
		  AND l.classid = $1::int4::oid AND l.objid = hashtext($2::text)::oid
		LIMIT 1`, lockClass, s.schema).Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) { // it has just gone
		return nil, nil
	}
	return text, err
}
