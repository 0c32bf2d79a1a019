package queue

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// manyQueues is a world with todos of random ages in 60 queues, and a claim of them all.
func manyQueues(t *testing.T, n int) (*world, ClaimParams) {
	t.Helper()
	w := newWorld(t)
	p := ClaimParams{Owner: "a", TTL: time.Hour, Limit: 1}
	for i := range 60 {
		p.Queues = append(p.Queues, fmt.Sprintf("q%02d", i))
	}
	w.exec("SELECT setseed(0.5)")
	w.exec(`INSERT INTO todos (id, queue, run_at) SELECT 'td_' || i, 'q' || lpad((i * i % 61 % 60)::text, 2, '0'), now() - random() * interval '1 h' FROM generate_series(1, $1::int) i`, n)
	w.exec("ANALYZE todos")
	return w, p
}

// Whoever takes what in turn: what several clients are handed out of many queues is what was the oldest of all at that moment, to the
// last, though each looks at a few heads only.
func TestManyQueuesComeByTheOldestHead(t *testing.T) {
	t.Parallel()
	w, p := manyQueues(t, 400)
	clients := []*Client{w.client(), w.client(), w.client()}
	want := strings.Fields(w.text("SELECT string_agg(id, ' ' ORDER BY run_at) FROM todos"))
	for i, id := range want {
		got, err := clients[i*i%7%3].Claim(t.Context(), p)
		if err != nil || len(got) != 1 || got[0].ID != id {
			t.Fatalf("claim %d: %v, %v, want %s", i, got, err, id)
		}
	}
	for _, c := range clients {
		if got, err := c.Claim(t.Context(), p); !errors.Is(err, todo.ErrEmpty) {
			t.Errorf("of nothing: %v, %v", got, err)
		}
	}
	sound(t.Context(), t, w.sql)
}

// A batch begins at the oldest head, and all is taken once.
func TestManyQueuesInBatches(t *testing.T) {
	t.Parallel()
	w, p := manyQueues(t, 500)
	p.Limit = 7
	left := w.text("SELECT count(*)::text FROM todos WHERE state = 'pending'")
	for left != "0" {
		oldest := w.text("SELECT id FROM todos WHERE state = 'pending' ORDER BY run_at LIMIT 1")
		got := w.take(p)
		if got[0].ID != oldest {
			t.Errorf("a batch begins with %s, and the oldest is %s", got[0].ID, oldest)
		}
		left = w.text("SELECT count(*)::text FROM todos WHERE state = 'pending'")
	}
}

// A claim of many queues looks at few of them, but for the first and for one each second.
func TestManyQueuesAreNotAllLookedAt(t *testing.T) {
	t.Parallel()
	w, p := manyQueues(t, 600)
	w.take(p)
	m := w.mark(p)
	before := w.read("todos")
	for range 20 {
		m.heads.read = time.Now()
		w.take(p)
	}
	if n := w.read("todos") - before; n > 20*(headsFew+8) {
		t.Errorf("20 claims read %d rows", n)
	}
}

// What comes to lie before the heads, what is assigned to the caller and what is resumed is found with the next look at all of them.
func TestManyQueuesAreLookedAtAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, meanwhile string }{
		"released": {meanwhile: "INSERT INTO todos (id, queue, run_at) VALUES ('td_x', 'q59', now() - interval '1 day')"},
		"resumed": {before: `INSERT INTO todos (id, queue, run_at) VALUES ('td_x', 'q59', now() - interval '1 day');
			INSERT INTO queues (name, paused_at) VALUES ('q59', now()) ON CONFLICT (name) DO UPDATE SET paused_at = now()`,
			meanwhile: "UPDATE queues SET paused_at = NULL"},
		"assigned": {meanwhile: "INSERT INTO todos (id, queue, assignee) VALUES ('td_x', 'q59', 'a')"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, p := manyQueues(t, 300)
			if c.before != "" {
				for sql := range strings.SplitSeq(c.before, ";") {
					w.exec(sql)
				}
			}
			if got := w.take(p); got[0].ID == "td_x" {
				t.Fatal("taken too early")
			}
			w.exec(c.meanwhile)
			w.mark(p).heads.read = time.Time{}
			if got := w.take(p); len(got) != 1 || got[0].ID != "td_x" {
				t.Errorf("claimed %v", got)
			}
		})
	}
}

// Another owner on the same connection does not go by what the first one saw, and each takes his own.
func TestManyQueuesOfAnotherOwner(t *testing.T) {
	t.Parallel()
	w, p := manyQueues(t, 300)
	w.exec("INSERT INTO todos (id, queue, assignee) SELECT 'td_own' || i, 'q58', 'b' FROM generate_series(1, 3) i")
	w.take(p)
	p.Owner = "b"
	for i := range 3 {
		if got := w.take(p); got[0].Assignee == nil {
			t.Errorf("claim %d of one with todos of his own is %s", i, got[0].ID)
		}
	}
	if got := w.take(p); got[0].Assignee != nil {
		t.Errorf("claimed %v", got)
	}
}
