package queue

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/todo"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// world is one database, a client under test and a connection of the test's own.
type world struct {
	*Client
	t   *testing.T
	url string
	sql *pgx.Conn
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return worldAt(t, pgtest.Database(t))
}

func worldAt(t *testing.T, url string) *world {
	t.Helper()
	w := &world{t: t, url: url, sql: pgtest.Connect(t, url)}
	w.Client = w.client()
	return w
}

// options connects as the program does.
func options(url string) Options {
	return Options{Connect: func(ctx context.Context) (*pgx.Conn, error) {
		return dbconn.Connect(ctx, dbconn.Options{URL: url, Source: "test", AppName: "todoctl test"})
	}}
}

// client opens a further client, with a connection of its own.
func (w *world) client() *Client {
	w.t.Helper()
	c, err := Open(w.t.Context(), options(w.url))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	return c
}

func (w *world) exec(sql string, args ...any) {
	w.t.Helper()
	if _, err := w.sql.Exec(context.Background(), sql, args...); err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
}

// text returns the rows of a query of one text column, a line each.
func (w *world) text(sql string, args ...any) string {
	w.t.Helper()
	rows, err := w.sql.Query(context.Background(), sql, args...)
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.t.Fatalf("%s: %v", sql, err)
	}
	return strings.Join(list, "\n")
}

// add enqueues a todo; set changes it before that.
func (w *world) add(queue string, set ...func(*NewTodo)) string {
	w.t.Helper()
	n := NewTodo{Queue: queue, Payload: "null", MaxAttempts: DefaultMaxAttempts}
	for _, f := range set {
		f(&n)
	}
	e, err := w.Enqueue(w.t.Context(), n)
	if err != nil {
		w.t.Fatal(err)
	}
	if !e.Created {
		w.t.Fatalf("enqueue of key %s found %s", *n.Key, e.ID)
	}
	return e.ID
}

func key(k string) func(*NewTodo)          { return func(n *NewTodo) { n.Key = &k } }
func assignee(a string) func(*NewTodo)     { return func(n *NewTodo) { n.Assignee = &a } }
func budget(attempts int) func(*NewTodo)   { return func(n *NewTodo) { n.MaxAttempts = attempts } }
func titled(s string) func(*NewTodo)       { return func(n *NewTodo) { n.Title = s } }
func delay(d time.Duration) func(*NewTodo) { return func(n *NewTodo) { n.Delay = &d } }
func one(queue, owner string) ClaimParams  { return some(queue, owner, 1) }
func ptr[T any](v T) *T                    { return &v }
func receipt(t todo.Todo) todo.Receipt     { return todo.Receipt{ID: t.ID, Seq: t.LeaseSeq} }
func lease(list ...todo.Todo) (p LeaseParams) {
	for _, t := range list {
		p.Receipts = append(p.Receipts, receipt(t))
	}
	return p
}

func some(queue, owner string, n int) ClaimParams {
	return ClaimParams{Queues: []string{queue}, Owner: owner, TTL: time.Minute, Limit: n}
}

// take claims, and fails the test when there is nothing.
func (w *world) take(p ClaimParams) []todo.Todo {
	w.t.Helper()
	got, err := w.Claim(w.t.Context(), p)
	if err != nil {
		w.t.Fatal(err)
	}
	return got
}

// takeOne claims one todo.
func (w *world) takeOne(queue, owner string) todo.Todo {
	w.t.Helper()
	got := w.take(one(queue, owner))
	if len(got) != 1 {
		w.t.Fatalf("claim of one returned %d", len(got))
	}
	return got[0]
}

// lapse lets the running leases and backoffs of some todos end a second ago, as if time had passed.
func (w *world) lapse(ids ...string) {
	w.t.Helper()
	w.exec(`UPDATE todos SET lease_expires_at = CASE WHEN state = 'claimed' THEN now() - interval '1 s' END,
	               next_retry_at = CASE WHEN next_retry_at IS NOT NULL THEN now() - interval '1 s' END WHERE id = ANY ($1)`, ids)
}

// done fails the test unless every result of a verb says that it was done, and not before.
func (w *world) done(list []Result, err error) []Result {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range list {
		if r.Error != nil {
			w.t.Fatalf("%s: %v", r.ID, r.Error)
		}
		if r.Already {
			w.t.Fatalf("%s had been done before", r.ID)
		}
	}
	return list
}

// code returns the code of the one result of a verb: "" when it was done, "already" when it had been.
func code(t *testing.T, list []Result, err error) todo.Code {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case len(list) != 1:
		t.Fatalf("%d results for one todo", len(list))
	case list[0].Error != nil:
		return list[0].Error.Code
	case list[0].Already:
		return "already"
	}
	return ""
}
