// Package doctor asks whether PostgreSQL itself is hurting the queue. It only reads, in transactions
// that are rolled back, and says unknown where the role may not look.
package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/db"
	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/migrate"
	"github.com/todoctl/todoctl/pkg/todo"
)

// Status is the verdict of a check, worst last.
type Status string

// The verdicts.
const (
	OK       Status = "ok"
	Unknown  Status = "unknown"
	Warning  Status = "warning"
	Critical Status = "critical"
)

// Finding is what one check found. Advice is a statement or command that mends it, "" for none.
type Finding struct {
	Check   string `json:"check"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	Advice  string `json:"advice"`
}

// Worst returns the worst status among findings.
func Worst(list []Finding) Status {
	worst := OK
	rank := map[Status]int{OK: 0, Unknown: 1, Warning: 2, Critical: 3}
	for _, f := range list {
		if rank[f.Status] > rank[worst] {
			worst = f.Status
		}
	}
	return worst
}

// check is one question.
type check struct {
	name string
	ask  func(context.Context, *doctor) (Status, string, string, error)
}

// doctor is one visit.
type doctor struct {
	cfg    *pgx.ConnConfig
	schema string
	conn   *pgx.Conn
	server server
}

// checks lists the questions in the order in which they are answered.
func checks() []check {
	return []check{{"schema", schema}, {"indexes", indexes}, {"snapshots", snapshots}, {"dead-tuples", deadTuples},
		{"autovacuum", autovacuum}, {"claim-plan", claimPlan}, {"expired-leases", expiredLeases}, {"clock", clock},
		{"connections", connections}, {"pooler", pooler}, {"memory", memory}}
}

// Examine runs every check on the database of cfg. The error is that of the connection; a check that
// fails is a finding.
func Examine(ctx context.Context, cfg *pgx.ConnConfig, schema string) ([]Finding, error) {
	conn, err := dbconn.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer dbconn.Close(conn)
	d := &doctor{cfg: cfg, schema: schema, conn: conn}
	if err := d.server.read(ctx, d); err != nil {
		return nil, dbconn.ReadError(ctx, err)
	}
	var list []Finding
	for _, c := range checks() {
		f := Finding{Check: c.name}
		f.Status, f.Message, f.Advice, err = c.ask(ctx, d)
		if err != nil {
			f.Status, f.Message, f.Advice = Unknown, dbconn.ReadError(ctx, err).Error(), ""
		}
		list = append(list, f)
	}
	return list, ctx.Err()
}

// query runs one statement in a transaction of its own that is rolled back.
func (d *doctor) query(ctx context.Context, name string, args pgx.StrictNamedArgs, row func(pgx.CollectableRow) error) error {
	sql, err := db.Query(name)
	if err != nil {
		return err
	}
	return d.readOnly(ctx, func(tx pgx.Tx) error {
		var list []any
		if args != nil {
			list = append(list, args)
		}
		rows, err := tx.Query(ctx, sql, list...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			if err := row(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

func (d *doctor) readOnly(ctx context.Context, f func(pgx.Tx) error) error {
	tx, err := d.conn.BeginTx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }() // there is nothing to keep
	// Compiling a plan costs more than it, and statistics that are old may propose to read what the index has in order.
	sql, err := db.Query("limits")
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, sql, pgx.StrictNamedArgs{"names": []string{"jit", "enable_seqscan", "enable_bitmapscan"}, "values": []string{"off", "off", "off"}}); err != nil {
		return err
	}
	return f(tx)
}

func schema(ctx context.Context, d *doctor) (Status, string, string, error) {
	s, err := migrate.New(d.cfg, d.schema, nil).Status(ctx)
	if err != nil {
		return Unknown, "", "", err
	}
	if err := s.Err(); err != nil {
		e := todo.Errorf(todo.CodeSchema, "%v", err)
		if full, ok := err.(*todo.Error); ok {
			e = full
		}
		return Critical, e.Message, e.Hint, nil
	}
	return OK, "schema " + s.Schema + " is at version " + s.Version, "", nil
}

func indexes(ctx context.Context, d *doctor) (Status, string, string, error) {
	names := []string{"todos_pkey", "idx_todos_pool", "idx_todos_assigned", "idx_todos_dedupe", "idx_todos_dead", "idx_todos_dead_id",
		"idx_todos_fingerprint", "idx_todos_dead_at", "idx_todos_failures", "idx_todos_key", "idx_todos_event", "idx_todos_ended", "todo_attempts_pkey", "idx_attempts_ended", "events_pkey", "idx_events_external", "queues_pkey",
		"todo_journal_pkey", "todo_journal_rows_pkey"}
	missing, invalid := "", ""
	err := d.query(ctx, "doctor_indexes", pgx.StrictNamedArgs{"names": names}, func(row pgx.CollectableRow) error {
		var name string
		var there, valid bool
		err := row.Scan(&name, &there, &valid)
		switch {
		case err == nil && !there:
			missing += " " + name
		case err == nil && !valid:
			invalid += " " + name
		}
		return err
	})
	switch {
	case err != nil:
		return Unknown, "", "", err
	case missing != "":
		return Critical, "missing:" + missing, "db/schema.sql has the statements that make them", nil
	case invalid != "":
		return Critical, "invalid, left by a build that was broken off:" + invalid, "todoctl migrate up", nil
	}
	return OK, fmt.Sprintf("all %d are there and valid", len(names)), "", nil
}

func expiredLeases(ctx context.Context, d *doctor) (Status, string, string, error) {
	var n int64
	var seconds *float64
	err := d.query(ctx, "doctor_leases", nil, func(row pgx.CollectableRow) error { return row.Scan(&n, &seconds) })
	if err != nil {
		return Unknown, "", "", err
	}
	if n == 0 || seconds == nil {
		return OK, "none waits to be reaped", "", nil
	}
	text := fmt.Sprintf("%d leases ran out and nobody took or reaped them, the oldest %s ago", n, span(*seconds))
	if *seconds > 300 {
		return Warning, text, "* * * * * todoctl reap --quiet --timeout 50s", nil
	}
	return OK, text, "", nil
}

// span prints seconds for people.
func span(seconds float64) string {
	return (time.Duration(seconds*1000) * time.Millisecond).Round(time.Second).String()
}
