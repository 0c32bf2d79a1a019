package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// holder is something that keeps vacuum from cleaning up.
type holder struct {
	kind, name, who, application, state string
	seconds                             *float64
	xids                                *int64
}

// A snapshot this old, in seconds or in transactions since, makes claims walk over what it keeps.
const (
	oldSnapshot    = 60
	ancient        = 600
	manyXIDs       = 100_000
	tooManyXIDs    = 1_000_000
	fewDead        = 10_000
	deadShare      = 0.2
	longSinceClean = 24 * 3600
)

func snapshots(ctx context.Context, d *doctor) (Status, string, string, error) {
	var worst *holder
	status := OK
	err := d.query(ctx, "doctor_snapshots", nil, func(row pgx.CollectableRow) error {
		var h holder
		if err := row.Scan(&h.kind, &h.name, &h.who, &h.application, &h.state, &h.seconds, &h.xids); err != nil {
			return err
		}
		if s := h.status(); worst == nil || s == Critical && status != Critical || s == Warning && status == OK {
			worst, status = &h, s
		}
		return nil
	})
	if err != nil {
		return Unknown, "", "", err
	}
	if worst == nil {
		return OK, "nothing holds an old snapshot", "", nil
	}
	if status == OK {
		return OK, "the oldest: " + worst.String(), "", nil
	}
	return status, worst.String() + " keeps dead rows from being cleaned up, so claims get slower", worst.end(), nil
}

func (h holder) status() Status {
	seconds, xids := 0.0, int64(0)
	if h.seconds != nil {
		seconds = *h.seconds
	}
	if h.xids != nil {
		xids = *h.xids
	}
	switch {
	case seconds > ancient || xids > tooManyXIDs:
		return Critical
	case seconds > oldSnapshot || xids > manyXIDs:
		return Warning
	}
	return OK
}

// String names the holder, as far as the role may see it.
func (h holder) String() string {
	s := h.kind + " " + h.name
	if h.who != "" {
		s += " of " + h.who
	}
	if h.application != "" {
		s += " (" + h.application + ")"
	}
	if h.state != "" {
		s += ", " + h.state
	}
	if h.seconds != nil {
		s += ", for " + span(*h.seconds)
	}
	if h.xids != nil {
		s += fmt.Sprintf(", %d transactions ago", *h.xids)
	}
	return s
}

// end is the statement that ends the holder.
func (h holder) end() string {
	literal := "'" + strings.ReplaceAll(h.name, "'", "''") + "'"
	switch h.kind {
	case "prepared transaction":
		return "ROLLBACK PREPARED " + literal
	case "replication slot":
		return "SELECT pg_drop_replication_slot(" + literal + "), if its consumer will not come back"
	case "standby feedback":
		return "end the long query on that standby, or set hot_standby_feedback = off there"
	}
	return "SELECT pg_terminate_backend(" + h.name + ")"
}

func deadTuples(ctx context.Context, d *doctor) (Status, string, string, error) {
	t, err := d.table(ctx)
	if err != nil {
		return Unknown, "", "", err
	}
	text := fmt.Sprintf("%d dead of %d rows in todos", t.dead, t.dead+t.live)
	if t.vacuum != nil {
		text += ", vacuumed " + span(*t.vacuum) + " ago"
	} else {
		text += ", never vacuumed"
	}
	if t.dead > fewDead && float64(t.dead) > deadShare*float64(t.dead+t.live) {
		return Warning, text, "VACUUM (ANALYZE) " + pgx.Identifier{t.schema, "todos"}.Sanitize(), nil
	}
	return OK, text, "", nil
}

func autovacuum(ctx context.Context, d *doctor) (Status, string, string, error) {
	s := d.server
	switch {
	case s.autovacuum != "on":
		return Critical, "autovacuum is off", "ALTER SYSTEM SET autovacuum = on; SELECT pg_reload_conf()", nil
	case s.counting != "on":
		return Critical, "track_counts is off, so autovacuum does nothing", "ALTER SYSTEM SET track_counts = on; SELECT pg_reload_conf()", nil
	}
	t, err := d.table(ctx)
	if err != nil {
		return Unknown, "", "", err
	}
	name := pgx.Identifier{t.schema, "todos"}.Sanitize()
	switch {
	case strings.Contains(t.options, "autovacuum_enabled=false") || strings.Contains(t.options, "autovacuum_enabled=off"):
		return Critical, "autovacuum is off for todos", "ALTER TABLE " + name + " RESET (autovacuum_enabled)", nil
	case !strings.Contains(t.options, "autovacuum_vacuum_scale_factor"):
		return Warning, "todos has lost its own vacuum settings; the default waits for a fifth of the table",
			"ALTER TABLE " + name + " SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0)", nil
	case s.naptime > 60:
		return Warning, fmt.Sprintf("autovacuum looks every %d s", s.naptime), "ALTER SYSTEM SET autovacuum_naptime = '30s'; SELECT pg_reload_conf()", nil
	}
	return OK, "on, with the table's own settings", "", nil
}

// table is what the statistics say of todos.
type table struct {
	live, dead       int64
	vacuum, analyzed *float64
	options, schema  string
}

func (d *doctor) table(ctx context.Context) (table, error) {
	var t table
	found := false
	err := d.query(ctx, "doctor_table", nil, func(row pgx.CollectableRow) error {
		found = true
		return row.Scan(&t.live, &t.dead, &t.vacuum, &t.analyzed, &t.options, &t.schema)
	})
	if err == nil && !found {
		err = fmt.Errorf("there is no table todos")
	}
	return t, err
}
