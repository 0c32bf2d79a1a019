package queue

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/todo"
)

// Channel is the one that waiters listen on; the payload is what they wait for.
const Channel = "todoctl"

const (
	bellLength = time.Minute      // how long a waiter counts as one without saying so again
	bellRenew  = 20 * time.Second // how often it says so
	bellTest   = time.Second      // how long a ring of its own may take
)

// Bell wakes one who waits for work from queues, or for the end of todos, by LISTEN on a connection
// of its own. It is a convenience: a ring may be lost, so the waiter polls beside it, only less often.
type Bell struct {
	who   string
	names []string
	conn  *pgx.Conn
	stop  context.CancelFunc
	rings chan struct{}
	done  chan struct{} // closed when the connection is gone
	said  time.Time     // when the waiter last said that it waits
	last  atomic.Int64  // when it last rang, in nanoseconds of the epoch
}

// Listen makes a bell for these names and rings it once, from the other connection, to find out
// whether it works: behind a transaction pooler it stays silent, on a standby it cannot be made.
func (c *Client) Listen(ctx context.Context, names []string) (*Bell, error) {
	conn, err := c.opt.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "LISTEN "+Channel); err != nil {
		dbconn.Close(conn)
		return nil, dbconn.ReadError(ctx, err)
	}
	live, stop := context.WithCancel(context.WithoutCancel(ctx))
	b := &Bell{who: uuid.NewString(), names: names, conn: conn, stop: stop, rings: make(chan struct{}, 1), done: make(chan struct{})}
	go b.listen(live)
	if _, err := b.Renew(ctx, c); err != nil {
		b.Close(ctx, c)
		return nil, err
	}
	if err := c.run(ctx, repeats, func() []step { return []step{notify([]string{b.who}, nil)} }); err != nil {
		b.Close(ctx, c)
		return nil, err
	}
	select {
	case <-b.rings:
		if !b.Lost() {
			c.Prepare() // no transaction pooler is in between
			return b, nil
		}
	case <-ctx.Done():
	case <-time.After(bellTest):
	}
	b.Close(ctx, c)
	return nil, todo.Errorf(todo.CodeUnavailable, "notifications do not arrive, as behind a transaction pooler")
}

func (b *Bell) listen(ctx context.Context) {
	defer b.ring() // so that nobody waits for a bell that is lost
	defer close(b.done)
	for {
		n, err := b.conn.WaitForNotification(ctx)
		if err != nil {
			return
		}
		if n.Payload == b.who || slices.Contains(b.names, n.Payload) {
			b.ring()
		}
	}
}

func (b *Bell) rang() time.Time { return time.Unix(0, b.last.Load()) }

func (b *Bell) ring() {
	b.last.Store(time.Now().UnixNano())
	select {
	case b.rings <- struct{}{}:
	default: // it rings already
	}
}

// Rings yields a value when there may be something.
func (b *Bell) Rings() <-chan struct{} { return b.rings }

// Lost says that the bell rings no more.
func (b *Bell) Lost() bool {
	select {
	case <-b.done:
		return true
	default:
		return false
	}
}

// Renew says again that somebody waits, when it is time to. It is true when that had been forgotten
// meanwhile: what happened until now did not ring.
func (b *Bell) Renew(ctx context.Context, c *Client) (forgotten bool, err error) {
	since := time.Since(b.said)
	if since < bellRenew {
		return false, nil
	}
	err = c.run(ctx, repeats, func() []step {
		return []step{{name: "wait", args: pgx.StrictNamedArgs{"names": append([]string{b.who}, b.names...), "who": b.who, "length": bellLength}}}
	})
	if err == nil {
		b.said = time.Now()
	}
	return since > bellLength-bellRenew, err
}

// Close ends the waiting. That somebody waited is forgotten by itself where this cannot be said.
func (b *Bell) Close(ctx context.Context, c *Client) {
	// A deadline ends the listening at once and may be set from here; to close the connection under it is
	// a race, and to cancel its context would ask the server to cancel a statement that there is not.
	_ = b.conn.PgConn().Conn().SetReadDeadline(time.Now())
	<-b.done
	b.stop()
	dbconn.Close(b.conn)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = c.run(ctx, repeats, func() []step { return []step{{name: "wait_over", args: pgx.StrictNamedArgs{"who": b.who}}} })
}
