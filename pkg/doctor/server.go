package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// server is what one statement tells of the server as a whole.
type server struct {
	clock                time.Time
	asked, answered      time.Time // by this machine's clock
	pid                  uint32    // of the server process that answered
	standby              bool
	most, used           int
	autovacuum, counting string
	workMemKB, naptime   int
}

func (s *server) read(ctx context.Context, d *doctor) error {
	s.asked = time.Now()
	return d.query(ctx, "doctor_server", nil, func(row pgx.CollectableRow) error {
		s.answered = time.Now()
		return row.Scan(&s.clock, &s.pid, &s.standby, &s.most, &s.used, &s.autovacuum, &s.counting, &s.workMemKB, &s.naptime)
	})
}

// clock compares the two clocks. Leases go by the server's alone, so a skew only misleads people and logs.
func clock(_ context.Context, d *doctor) (Status, string, string, error) {
	s := d.server
	skew := s.clock.Sub(s.asked.Add(s.answered.Sub(s.asked) / 2)).Round(time.Millisecond)
	text := fmt.Sprintf("the server's clock is %s ahead of this machine's", skew)
	if skew < 0 {
		text = fmt.Sprintf("the server's clock is %s behind this machine's", -skew)
	}
	if skew.Abs() > 5*time.Second {
		return Warning, text + "; leases go by the server's", "run NTP on both machines", nil
	}
	return OK, text, "", nil
}

func connections(_ context.Context, d *doctor) (Status, string, string, error) {
	s := d.server
	left := s.most - s.used
	text := fmt.Sprintf("%d of %d connections are left", left, s.most)
	switch {
	case left <= 3:
		return Critical, text, "put a pooler in front, or: ALTER SYSTEM SET max_connections = " + fmt.Sprint(2*s.most) + " (needs a restart)", nil
	case left*10 < s.most:
		return Warning, text, "put a pooler in front of short commands", nil
	}
	return OK, text, "", nil
}

// pooler compares the process that greeted this connection with the one that answers: a pooler greets for itself.
func pooler(_ context.Context, d *doctor) (Status, string, string, error) {
	if d.conn.PgConn().PID() == d.server.pid {
		return OK, "the connection is direct", "", nil
	}
	return OK, "the connection goes through a pooler: waiting commands poll there, and migrate wants a direct one", "", nil
}

func memory(_ context.Context, d *doctor) (Status, string, string, error) {
	kb := d.server.workMemKB
	text := fmt.Sprintf("work_mem is %d kB", kb)
	if kb < 4096 {
		return Warning, text + "; lists of dead letters and bulk enqueues sort on disk", "ALTER ROLE CURRENT_USER SET work_mem = '16MB'", nil
	}
	return OK, text, "", nil
}
