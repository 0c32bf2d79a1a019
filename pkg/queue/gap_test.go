package queue

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/todo"
)

// splice rewrites the statements that a client sends: the protocol's Parse messages.
type splice struct {
	net.Conn
	rewrite func(sql string) string
}

func (s *splice) Write(b []byte) (int, error) {
	if len(b) > 0 && b[0] == 0 { // the start-up message alone has no type
		return s.Conn.Write(b)
	}
	var out []byte
	for rest := b; len(rest) > 0; {
		n := 1 + int(binary.BigEndian.Uint32(rest[1:]))
		message := rest[:n]
		rest = rest[n:]
		if message[0] == 'P' {
			name, more, _ := bytes.Cut(message[5:], []byte{0})
			sql, types, _ := bytes.Cut(more, []byte{0})
			body := append(append(bytes.Clone(name), 0), s.rewrite(string(sql))...)
			body = append(append(body, 0), types...)
			message = append(binary.BigEndian.AppendUint32([]byte{'P'}, uint32(4+len(body))), body...)
		}
		out = append(out, message...)
	}
	if _, err := s.Conn.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// gated opens a client whose claims wait between the snapshot of the statement and its scan while
// somebody holds the gate. It is the file's own text with one condition more.
func (w *world) gated(name, before, after string) *Client {
	w.t.Helper()
	text, err := statement(name)
	if err != nil {
		w.t.Fatal(err)
	}
	if strings.Count(text, before) != 1 {
		w.t.Fatalf("%s.sql has no %q to splice the wait into", name, before)
	}
	return w.spliced(func(sql string) string { return strings.Replace(sql, before, after, 1) })
}

// tapped opens a client whose statements are shown to see before they are sent.
func (w *world) tapped(see func(sql string)) *Client {
	w.t.Helper()
	return w.spliced(func(sql string) string { see(sql); return sql })
}

func (w *world) spliced(rewrite func(string) string) *Client {
	w.t.Helper()
	cfg, err := dbconn.ParseConfig(dbconn.Options{URL: w.url, Source: "test", AppName: "todoctl gated"})
	if err != nil {
		w.t.Fatal(err)
	}
	dial := cfg.DialFunc
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		return &splice{conn, rewrite}, err
	}
	c, err := Open(w.t.Context(), Options{Connect: func(ctx context.Context) (*pgx.Conn, error) { return pgx.ConnectConfig(ctx, cfg) }})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(c.Close)
	return c
}

const gate = `(SELECT pg_advisory_xact_lock_shared(7)) IS NOT NULL`

// inGap runs claim on a gated client and does meanwhile between its first snapshot and its scan.
func (w *world) inGap(claim func() ([]todo.Todo, error), meanwhile func()) ([]todo.Todo, error) {
	w.t.Helper()
	w.exec("SELECT pg_advisory_lock(7)")
	type answer struct {
		got []todo.Todo
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		got, err := claim()
		answers <- answer{got, err}
	}()
	until(w.t, "the claim waits at the gate", func() bool { return w.waiting("advisory") == "1" })
	meanwhile()
	w.exec("SELECT pg_advisory_unlock(7)")
	a := <-answers
	return a.got, a.err
}

// until waits for a condition that is sure to come.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("waited in vain until %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// A row that moves between the snapshot of a claim and its lock never makes the claim come
// back empty while there is something, and never ends a lease in history that runs on.
func TestClaimGap(t *testing.T) {
	for name, c := range map[string]struct {
		before    func(w *world) (head todo.Todo) // makes the head of the queue
		meanwhile func(w *world, head todo.Todo)
		gone      bool // the head is not to be had any more: the next one is
		empty     bool // nothing stands behind the head
	}{
		"reap": {lapsed, func(w *world, _ todo.Todo) {
			if r, err := w.Reap(w.t.Context(), nil, false, nil); err != nil || r.Requeued != 1 {
				w.t.Fatal(r, err)
			}
		}, false, true},
		"bump": {pending, func(w *world, head todo.Todo) {
			w.done(w.Bump(w.t.Context(), []string{head.ID}, BumpParams{By: time.Hour}))
		}, false, true},
		"heartbeat": {lapsed, func(w *world, head todo.Todo) {
			w.done(w.Heartbeat(w.t.Context(), lease(head), time.Hour))
		}, true, false},
		"claim": {pending, func(w *world, head todo.Todo) {
			if got := w.takeOne("q", "other"); got.ID != head.ID {
				w.t.Fatalf("the other claim took %s", got.ID)
			}
		}, true, false},
		"claim of a lapsed lease": {lapsed, func(w *world, head todo.Todo) {
			if got := w.takeOne("q", "other"); got.ID != head.ID {
				w.t.Fatalf("the other claim took %s", got.ID)
			}
		}, true, false},
		"release": {claimed, func(w *world, head todo.Todo) {
			w.done(w.Release(w.t.Context(), lease(head), nil, nil))
		}, false, true},
		"complete": {lapsed, func(w *world, head todo.Todo) {
			w.done(w.Complete(w.t.Context(), lease(head), nil))
		}, true, false},
		"bury": {pending, func(w *world, head todo.Todo) {
			w.done(w.Bury(w.t.Context(), []string{head.ID}, BuryParams{}))
		}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			head := c.before(w)
			next := ""
			if !c.empty {
				next = w.add("q")
			}
			gated := w.gated("claim", "p) x\n  WHERE ", "p) x\n  WHERE "+gate+" AND ")
			got, err := w.inGap(func() ([]todo.Todo, error) { return gated.Claim(t.Context(), one("q", "b")) },
				func() { c.meanwhile(w, head) })
			if err != nil {
				t.Fatal(err)
			}
			want := head.ID
			if c.gone {
				want = next
			}
			if len(got) != 1 || got[0].ID != want {
				t.Errorf("claimed %v, want %s", got, want)
			}
			sound(t.Context(), t, w.sql)
		})
	}
}

func pending(w *world) todo.Todo {
	return todo.Todo{ID: w.add("q")}
}

func claimed(w *world) todo.Todo {
	w.add("q")
	return w.takeOne("q", "a")
}

func lapsed(w *world) todo.Todo {
	head := claimed(w)
	w.lapse(head.ID)
	return head
}

// The late heartbeat: it was sent in time but commits after the end of the very lease that it
// set, in the gap. The claim locks the row at a version that its snapshot does not hold.
func TestClaimGapLateHeartbeat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	head := lapsed(w)
	late := pgtest.Connect(t, w.url)
	if _, err := late.Exec(t.Context(), "BEGIN"); err != nil {
		t.Fatal(err)
	}
	if _, err := late.Exec(t.Context(), "UPDATE todos SET lease_expires_at = now() + interval '1 us' WHERE id = $1", head.ID); err != nil {
		t.Fatal(err)
	}
	gated := w.gated("claim", "p) x\n  WHERE ", "p) x\n  WHERE "+gate+" AND ")
	got, err := w.inGap(func() ([]todo.Todo, error) { return gated.Claim(t.Context(), one("q", "b")) }, func() {
		if _, err := late.Exec(t.Context(), "COMMIT"); err != nil {
			t.Fatal(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].ID != head.ID || got[0].LeaseSeq != 2 {
		t.Errorf("claimed %v, want the second lease of %s", got, head.ID)
	}
	if h := w.text("SELECT lease_seq || ' ' || outcome FROM todo_attempts"); h != "1 taken over" {
		t.Errorf("history is %q", h)
	}
	sound(t.Context(), t, w.sql)
}

// The same gap of the other two claim statements.
func TestClaimGapOfTheOtherForms(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	head := lapsed(w)
	many := w.gated("claim_many", "p) k\n", "p) k WHERE "+gate+"\n")
	got, err := w.inGap(func() ([]todo.Todo, error) {
		p := one("q", "b")
		p.Queues = append(p.Queues, "other")
		return many.Claim(t.Context(), p)
	}, func() {
		if _, err := w.Reap(t.Context(), nil, false, nil); err != nil {
			t.Fatal(err)
		}
	})
	if err != nil || len(got) != 1 {
		t.Fatalf("claimed %v, %v from several queues", got, err)
	}
	w.lapse(head.ID)
	byID := w.gated("claim_id", "   WHERE t0.id", "   WHERE "+gate+" AND t0.id")
	got, err = w.inGap(func() ([]todo.Todo, error) {
		c, err := byID.ClaimID(t.Context(), head.ID, "c", time.Minute)
		return []todo.Todo{c}, err
	}, func() {
		if _, err := w.Reap(t.Context(), nil, false, nil); err != nil {
			t.Fatal(err)
		}
	})
	if err != nil || got[0].LeaseSeq != 3 {
		t.Fatalf("claimed %v, %v by id", got, err)
	}
	sound(t.Context(), t, w.sql)
}
