// Package queue drives the state machine of the work queue in PostgreSQL. One method is one
// transition, one guarded transaction and one file under db/queries. Every time is compared against
// the server's clock; a row that a guard refused is classified, never passed over in silence.
package queue

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/todo"
)

// Options says how a Client reaches its database and how it treats failures and locks.
type Options struct {
	Connect     func(context.Context) (*pgx.Conn, error) // opens a connection; called again when one broke
	RetryBase   time.Duration                            // first backoff of a failed todo; 0 is 30 s
	RetryCap    time.Duration                            // longest backoff; 0 is 15 min
	LockTimeout time.Duration                            // longest wait for a row lock where the role sets none; 0 is 10 s
	Prepare     bool                                     // prepare statements once for each connection: half the latency; not through a transaction pooler

	Who          string                     // who an operator's verbs are journaled for; "" is the database's role
	Host         string                     // where that is
	Told         func(id string, why error) // hears of each row that a verb by filter left out because of a fault of its own; nil: nobody
	BeforeImages time.Duration              // how long the journal keeps what undo needs; 0 is 7 days
	KeepJournal  time.Duration              // how long it keeps its own rows, until a prune; 0 is 365 days
}

// Client runs transitions on one connection. It is not for concurrent use: one goroutine, one Client.
type Client struct {
	opt   Options
	conn  *pgx.Conn
	marks map[string]*mark // by queues
	far   int              // walkedFar, but for tests
}

// Open connects. The error is one of pkg/todo: unavailable, denied, usage.
func Open(ctx context.Context, opt Options) (*Client, error) {
	if opt.RetryBase == 0 {
		opt.RetryBase = 30 * time.Second
	}
	if opt.RetryCap == 0 {
		opt.RetryCap = 15 * time.Minute
	}
	if opt.LockTimeout == 0 {
		opt.LockTimeout = 10 * time.Second
	}
	if opt.BeforeImages == 0 {
		opt.BeforeImages = 7 * 24 * time.Hour
	}
	if opt.KeepJournal == 0 {
		opt.KeepJournal = 365 * 24 * time.Hour
	}
	c := &Client{opt: opt, far: walkedFar}
	return c, c.ready(ctx)
}

// Prepare has statements prepared from now on, as Options.Prepare does. It is for who knows by now that no
// transaction pooler is in between, and will run the same ones many times.
func (c *Client) Prepare() { c.opt.Prepare = true }

// PrepareDirect does so where the connection leads to the server itself: the process that answers is the one that the
// connection was told of when it began. A pooler tells its clients of none of its servers, and then nothing is prepared.
func (c *Client) PrepareDirect(ctx context.Context) error {
	var pid uint32
	err := c.run(ctx, reads, func() []step {
		return []step{{name: "direct", row: func(r pgx.CollectableRow) error { return r.Scan(&pid) }}}
	})
	if err == nil && pid == c.conn.PgConn().PID() {
		c.Prepare()
	}
	return err
}

// Close takes leave of the server without waiting for its answer.
func (c *Client) Close() {
	if c.conn != nil {
		dbconn.Close(c.conn)
	}
}

func (c *Client) ready(ctx context.Context) error {
	if c.conn != nil && !c.conn.IsClosed() {
		return nil
	}
	conn, err := c.opt.Connect(ctx)
	if err != nil {
		return err
	}
	c.conn = conn
	return nil
}

// access says what may be assumed of a statement whose answer did not arrive.
type access int

const (
	reads   access = iota // changes nothing
	writes                // the outcome is unknown when the connection breaks
	repeats               // a write that is safe to repeat, and is repeated once on a new connection
)

// step is one statement of a pipeline: a file under db/queries, its parameters, and what is done
// with each row of its answer.
type step struct {
	name string
	args pgx.StrictNamedArgs
	row  func(pgx.CollectableRow) error
	low  string // claims: the setting todoctl.low, which bounds the look
}

// attempts bounds how often a transaction is tried that lost a deadlock or a serialization race.
const attempts = 5

// run sends the steps that build returns in one network turn. They are one transaction: the server
// commits at the one Sync that ends them. build is called anew for each try, so it resets what it collects.
func (c *Client) run(ctx context.Context, a access, build func() []step) error {
	err := c.tries(ctx, a, func() error { return c.pipeline(ctx, build()) })
	if a == repeats && errors.Is(err, todo.ErrUnknown) && ctx.Err() == nil {
		if c.ready(ctx) == nil {
			return c.tries(ctx, a, func() error { return c.pipeline(ctx, build()) })
		}
	}
	return err
}

func (c *Client) tries(ctx context.Context, a access, once func() error) error {
	for try := 1; ; try++ {
		if err := c.ready(ctx); err != nil {
			return err
		}
		err := once()
		switch {
		case err == nil:
			return nil
		case dbconn.Retryable(err) && try < attempts && ctx.Err() == nil:
			continue
		case c.opt.Prepare && dbconn.Outdated(err) && ctx.Err() == nil: // the schema has changed under it, or there is a pooler
			c.opt.Prepare = false
		case a == reads:
			return dbconn.WithRole(dbconn.ReadError(ctx, err), c.conn.Config())
		default:
			return dbconn.WithRole(dbconn.WriteError(ctx, err), c.conn.Config())
		}
	}
}

func (c *Client) pipeline(ctx context.Context, steps []step) error {
	var methods []string
	for _, s := range steps {
		methods = append(methods, without(s.name)...)
	}
	set := off(methods...)
	if c.opt.Prepare && !slices.ContainsFunc(steps, func(s step) bool { return !hot(s.name) }) {
		set.add("plan_cache_mode", "force_generic_plan")
	}
	for _, s := range steps {
		if s.low != "" {
			set.add("todoctl.low", s.low)
		}
	}
	return c.send(ctx, append([]step{c.limits(ctx, set)}, steps...))
}

// transaction runs f between BEGIN and COMMIT, for what needs one answer to ask the next question.
// methods are those of the planner that its statements must do without.
func (c *Client) transaction(ctx context.Context, methods []string, f func(*tx) error) error {
	return c.tries(ctx, writes, func() error {
		return pgx.BeginFunc(ctx, c.conn, func(t pgx.Tx) error {
			x := &tx{ctx: ctx, tx: t}
			if err := x.do(c.limits(ctx, off(methods...))); err != nil {
				return err
			}
			return f(x)
		})
	})
}

// tx is a running transaction.
type tx struct {
	ctx context.Context
	tx  pgx.Tx
}

// do runs one statement.
func (x *tx) do(s step) error {
	sql, err := statement(s.name)
	if err != nil {
		return err
	}
	rows, err := x.tx.Query(x.ctx, sql, args(s)...)
	if err != nil {
		return err
	}
	return each(rows, s.row)
}

// count runs one statement and returns how many rows it changed.
func (x *tx) count(s step) (int, error) {
	sql, err := statement(s.name)
	if err != nil {
		return 0, err
	}
	tag, err := x.tx.Exec(x.ctx, sql, args(s)...)
	return int(tag.RowsAffected()), err
}

// settings are what a transaction of its own sets for itself.
type settings struct{ names, values []string }

func (s *settings) add(name, value string) {
	s.names, s.values = append(s.names, name), append(s.values, value)
}

// off turns planner's methods off.
func off(methods ...string) (s settings) {
	for _, method := range methods {
		s.add(method, "off")
	}
	return s
}

// limits bounds what follows in the same transaction: waits for locks always, statements when the
// caller has a deadline, so that the server stops even if this process can no longer tell it to.
// It also sets what the plans of its statements need.
func (c *Client) limits(ctx context.Context, set settings) step {
	set.add("lock_timeout", milliseconds(c.opt.LockTimeout))
	set.add("jit", "off")
	if end, ok := ctx.Deadline(); ok {
		set.add("statement_timeout", milliseconds(max(time.Until(end), 0)+time.Second))
	}
	return step{name: "limits", args: pgx.StrictNamedArgs{"names": set.names, "values": set.values}}
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func args(s step) []any {
	if s.args == nil {
		return nil
	}
	return []any{s.args}
}

func each(rows pgx.Rows, f func(pgx.CollectableRow) error) error {
	defer rows.Close()
	for rows.Next() {
		if f == nil {
			continue
		}
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
