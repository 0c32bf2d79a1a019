package dbconn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/todoctl/todoctl/pkg/todo"
)

// ReadError turns a driver error of a statement that changes nothing into a *todo.Error. A nil error
// and one that already is a *todo.Error come back as they are.
func ReadError(ctx context.Context, err error) error { return statementError(ctx, err, false) }

// WriteError is ReadError for a statement that may have changed something: where the connection was
// lost after it was sent, nobody knows whether it was committed, and the code is unknown.
func WriteError(ctx context.Context, err error) error { return statementError(ctx, err, true) }

// Retryable says whether err is a deadlock or a serialization failure, after which the whole
// transaction can be tried again.
func Retryable(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40P01" || pg.Code == "40001")
}

// Outdated says that a prepared statement is not what it was: the schema has changed since, or a pooler has given
// the session to another server. Nothing was done.
func Outdated(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "26000" || pg.Code == "42P05" || pg.Code == "0A000")
}

func statementError(ctx context.Context, err error, write bool) error {
	var known *todo.Error
	if err == nil || errors.As(err, &known) {
		return err
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		// 57014 while our own context is done is the answer to our cancel request: rolled back.
		if pg.Code == "57014" {
			if e := contextError(ctx, err); e != nil {
				return e
			}
		}
		e := serverError(pg)
		e.Err = err
		// A pooler speaks for a server that it has lost, perhaps after it passed the commit on.
		if write && strings.HasPrefix(pg.Code, "08") && !neverSent(pg.Message) {
			return unknown(err, "the pooler lost the server ("+pg.Message+")")
		}
		return e
	}
	sent := !pgconn.SafeToRetry(err)
	if e := contextError(ctx, err); e != nil && !(write && sent) {
		return e
	}
	if !connectionFault(err) {
		return &todo.Error{Code: todo.CodeInternal, Message: err.Error(), Err: err}
	}
	if write && sent {
		return unknown(err, "the connection to the server was lost")
	}
	return &todo.Error{Code: todo.CodeUnavailable, Message: "the connection to the server was lost",
		Hint: "try again", Err: err}
}

// neverSent knows the refusals of PgBouncer that come before a server was found.
func neverSent(message string) bool {
	for _, m := range []string{"query_wait_timeout", "cannot connect to server", "server login has been failing",
		"no more connections", "unsupported startup parameter"} {
		if strings.Contains(message, m) {
			return true
		}
	}
	return false
}

// WithRole adds to a denied error which role lacks the right, and to its hint the GRANT to ask for.
// The server tells neither. Any other error comes back as it is.
func WithRole(err error, cfg *pgx.ConnConfig) error {
	var e *todo.Error
	if !errors.As(err, &e) || e.Details["sqlstate"] != "42501" || cfg == nil || e.Details["role"] != nil {
		return err
	}
	role := pgx.Identifier{cfg.User}.Sanitize()
	c := e.With("role", cfg.User)
	c.Message += " (role " + cfg.User + ")"
	schema := "public"
	if path := cfg.RuntimeParams["search_path"]; path != "" {
		schema, _, _ = strings.Cut(path, ",")
	}
	c.Hint = "ask the owner for: GRANT USAGE ON SCHEMA " + schema + " TO " + role +
		"; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " + schema + " TO " + role
	return c
}

func unknown(err error, what string) *todo.Error {
	return &todo.Error{Code: todo.CodeUnknown, Err: err,
		Message: what + " before it answered: whether the change was made is not known",
		Hint:    "look with todoctl list or show before repeating it"}
}

// contextError returns the error for a context that is done, or nil while it is not. A cause that is
// a *todo.Error speaks for itself.
func contextError(ctx context.Context, err error) *todo.Error {
	return endedBefore(ctx, err, "the database answered")
}

// WaitError is the error for a context that ended while something else was waited for than an answer of the database. It
// says what for: the end of "the timeout ran out before". It is nil while the context is not done.
func WaitError(ctx context.Context, what string) error {
	if e := endedBefore(ctx, nil, what); e != nil {
		return e
	}
	return nil
}

func endedBefore(ctx context.Context, err error, what string) *todo.Error {
	if ctx == nil || ctx.Err() == nil {
		return nil
	}
	var cause *todo.Error
	if errors.As(context.Cause(ctx), &cause) {
		return cause
	}
	joined := errors.Join(ctx.Err(), err)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &todo.Error{Code: todo.CodeTimeout, Message: "the timeout ran out before " + what, Err: joined}
	}
	return &todo.Error{Code: todo.CodeInterrupted, Message: "interrupted", Err: joined}
}

// serverError gives a server's error its code, and a hint that names what mends it.
func serverError(pg *pgconn.PgError) *todo.Error {
	e := &todo.Error{Code: todo.CodeInternal, Message: pg.Message, Err: pg,
		Details: map[string]any{"sqlstate": pg.Code}}
	if e.Message == "" {
		e.Message = fmt.Sprintf("the server refused without a reason (%s)", pg.Code)
	}
	switch pg.Code {
	case "42P01", "42703", "3F000", "42883", "42P10":
		e.Code, e.Message = todo.CodeSchema, "the schema is missing or older than this todoctl: "+pg.Message
		e.Hint = "run: todoctl migrate up; or name the right --schema"
	case "42501":
		e.Code = todo.CodeDenied
		e.Hint = "ask the owner of the tables to grant the right to this role"
	case "28P01", "28000":
		e.Code = todo.CodeDenied
		e.Hint = "check user and password, and that pg_hba.conf lets them in"
	case "25006", "0A000":
		// The second is of much, but from here of a standby that is asked for a table which is not logged. The message
		// may be in any language.
		if pg.Code != "25006" && pg.Routine != "get_relation_info" {
			break
		}
		e.Code, e.Message = todo.CodeUnavailable, "the server is read-only: "+pg.Message
		e.Hint = "name the primary, or several hosts with target_session_attrs=read-write"
	case "57014":
		e.Code = todo.CodeUnavailable
		e.Message = "the server cancelled the statement: " + pg.Message
		e.Hint = "someone cancelled it, or the role's or the database's statement_timeout is too short for it"
	case "55P03":
		e.Code = todo.CodeUnavailable
		e.Hint = "another session holds the lock for longer than lock_timeout; try again"
	case "25P03":
		e.Code, e.Hint = todo.CodeUnavailable, "raise idle_in_transaction_session_timeout of the role"
	case "25P04":
		e.Code, e.Hint = todo.CodeUnavailable, "raise transaction_timeout of the role"
	case "57P05":
		e.Code, e.Hint = todo.CodeUnavailable, "raise idle_session_timeout of the role"
	case "53300":
		e.Code, e.Hint = todo.CodeUnavailable, "the server has no connection left; try again, or raise max_connections"
	case "3D000":
		e.Code, e.Hint = todo.CodeUnavailable, "create the database (createdb NAME), or name another"
	case "42P05", "26000", "08P01":
		e.Code = todo.CodeUnavailable
		e.Hint = "a pooler is in between: PgBouncer needs track_extra_parameters or ignore_startup_parameters " +
			"for search_path, and max_prepared_statements above 0 for clients that prepare"
	case "40P01", "40001":
		e.Code, e.Hint = todo.CodeUnavailable, "other sessions were in the way each time; try again"
	case "54001":
		e.Code, e.Hint = todo.CodeData, "the document is nested too deeply for the server"
	case "22P05", "22P02":
		e.Code, e.Hint = todo.CodeData, "PostgreSQL cannot store it; \\u0000 and lone surrogates have no place in jsonb"
	default:
		switch pg.Code[:min(2, len(pg.Code))] {
		case "08", "57", "53", "58":
			e.Code, e.Hint = todo.CodeUnavailable, "the server is starting, stopping or out of resources; try again"
		case "22", "23", "54":
			e.Code = todo.CodeData
		}
	}
	if e.Code == todo.CodeInternal && pg.Detail != "" {
		e.Details["detail"] = pg.Detail
	}
	return e
}

// connectionFault says whether err came from the network or from a connection that is gone.
func connectionFault(err error) bool {
	var ne net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) || errors.As(err, &ne) || pgconn.Timeout(err) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
