package migrate

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/todo"
)

// Status says how far a schema is from what this binary wants.
type Status struct {
	Schema         string   `json:"schema"`
	Current        bool     `json:"current"`
	Version        string   `json:"version"` // newest applied; "" for none
	Latest         string   `json:"latest"`  // newest that this binary knows
	Applied        []string `json:"applied"`
	Pending        []string `json:"pending"`
	Unknown        []string `json:"unknown"`         // applied, but not known to this binary: it is too old
	InvalidIndexes []string `json:"invalid_indexes"` // left by an index build that was broken off
	Foreign        []string `json:"foreign"`         // tables of our names that todoctl did not make
}

// Err returns nil for a schema that is current, else what is wrong and which command mends it.
func (s Status) Err() error {
	if s.Current {
		return nil
	}
	if err := s.Refused(); err != nil {
		return err
	}
	if len(s.Pending) > 0 {
		at := "has no todoctl tables"
		if s.Version != "" {
			at = "is at version " + s.Version
		}
		return todo.Errorf(todo.CodeSchema, "schema %s %s; pending: %s", s.Schema, at, strings.Join(s.Pending, ", ")).
			WithHint("run: todoctl migrate up")
	}
	return todo.Errorf(todo.CodeSchema, "invalid index in schema %s: %s", s.Schema, strings.Join(s.InvalidIndexes, ", ")).
		WithHint("build it again with: todoctl migrate up")
}

// Refused returns why Up must change nothing here, or nil.
func (s Status) Refused() error {
	if len(s.Unknown) > 0 {
		return s.tooNew()
	}
	if len(s.Foreign) > 0 {
		return todo.Errorf(todo.CodeSchema, "schema %s has tables of the same names that todoctl did not make: %s",
			s.Schema, strings.Join(s.Foreign, ", ")).WithHint("keep todoctl's apart: todoctl migrate up --schema todoctl")
	}
	return nil
}

// Down returns what Down would do.
func (s Status) Down(all bool) Result {
	r := Result{Schema: s.Schema, Applied: []string{}, Undone: []string{}, Rebuilt: []string{}}
	left := s.Applied
	for len(left) > 0 && (all || len(r.Undone) == 0) {
		r.Undone = append(r.Undone, left[len(left)-1])
		left = left[:len(left)-1]
	}
	if len(left) > 0 {
		r.Version = left[len(left)-1]
	}
	return r
}

func (s Status) tooNew() error {
	return todo.Errorf(todo.CodeSchema, "schema %s is at version %s, newer than this todoctl, which knows %s",
		s.Schema, s.Unknown[len(s.Unknown)-1], s.Latest).WithHint("upgrade todoctl")
}

// Status reads how the schema stands. It takes no lock and changes nothing.
func (m *Migrator) Status(ctx context.Context) (Status, error) {
	s, err := m.open(ctx)
	if err != nil {
		return Status{}, err
	}
	defer s.close()
	return s.status(ctx)
}

func (s *session) status(ctx context.Context) (Status, error) {
	st := Status{Schema: s.schema, Latest: Latest(), Applied: []string{}, Pending: []string{},
		Unknown: []string{}, InvalidIndexes: []string{}, Foreign: []string{}}
	known := versions()
	recorded, err := s.list(ctx, `SELECT c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1::text AND c.relname = '`+Table+`'`, s.schema)
	if err != nil {
		return st, err
	}
	if len(recorded) > 0 {
		applied, err := s.list(ctx, "SELECT version FROM "+pgx.Identifier{s.schema, Table}.Sanitize()+" ORDER BY version")
		if err != nil {
			return st, err
		}
		for _, v := range applied {
			if slices.Contains(known, v) {
				st.Applied = append(st.Applied, v)
			} else {
				st.Unknown = append(st.Unknown, v)
			}
			st.Version = v
		}
	}
	for _, v := range known {
		if !slices.Contains(st.Applied, v) {
			st.Pending = append(st.Pending, v)
		}
	}
	names, err := tables()
	if err != nil {
		return st, err
	}
	if st.Version == "" {
		st.Foreign, err = s.list(ctx, `SELECT c.relname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = $1::text AND c.relname = ANY ($2::text[]) ORDER BY 1`, s.schema, names)
	} else {
		st.InvalidIndexes, err = s.list(ctx, `SELECT i.relname::text FROM pg_catalog.pg_index x
			JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid JOIN pg_catalog.pg_class t ON t.oid = x.indrelid
			JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace
			WHERE n.nspname = $1::text AND t.relname = ANY ($2::text[])
			  AND NOT (x.indisvalid AND x.indisready) ORDER BY 1`, s.schema, names)
	}
	st.Current = len(st.Pending)+len(st.Unknown)+len(st.InvalidIndexes)+len(st.Foreign) == 0
	return st, err
}

func (s *session) list(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := s.work.Query(ctx, query, args...)
	if err == nil {
		var names []string
		if names, err = pgx.CollectRows(rows, pgx.RowTo[string]); err == nil {
			return append([]string{}, names...), nil
		}
	}
	return []string{}, dbconn.WithRole(dbconn.ReadError(ctx, err), s.cfg)
}

// Wait returns when the server answers and the schema is at this binary's version. It notes the
// reason for waiting whenever that changes, and names the last one when ctx ends first.
func (m *Migrator) Wait(ctx context.Context) error {
	told := ""
	for {
		st, err := m.Status(ctx)
		if err == nil && len(st.Pending)+len(st.Unknown) == 0 {
			return nil
		}
		if err == nil {
			err = st.Err()
		}
		if todo.CodeOf(err) == todo.CodeUsage { // no time mends that
			return err
		}
		if ctx.Err() == nil && err.Error() != told {
			told = err.Error()
			m.note("waiting: " + told)
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			e := asTodo(dbconn.ReadError(ctx, ctx.Err()))
			if told != "" {
				e.Message += "; last seen: " + told
			}
			return e
		}
	}
}
