package queue

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Replica is which kind of server answers.
type Replica struct {
	Server  string // address, or path of the socket
	Standby bool
	Known   bool          // Behind is known
	Behind  time.Duration // how old what it shows may be; at most, as an idle primary looks like one that is far ahead
}

// Replica asks the server that this client reads from what it is.
func (c *Client) Replica(ctx context.Context) (r Replica, err error) {
	err = c.run(ctx, reads, func() []step {
		return []step{{name: "replica", row: func(row pgx.CollectableRow) error {
			var seconds *float64
			err := row.Scan(&r.Standby, &seconds)
			if r.Known = seconds != nil; r.Known {
				r.Behind = max(time.Duration(*seconds*float64(time.Second)), 0)
			}
			return err
		}}}
	})
	if err == nil {
		r.Server = c.conn.PgConn().Conn().RemoteAddr().String() // the config names the first host alone
	}
	return r, err
}
