package queue

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// prepared are the names of what the client's session has prepared.
func (w *world) prepared() []string {
	w.t.Helper()
	rows, err := w.conn.Query(w.t.Context(), "SELECT name FROM pg_prepared_statements WHERE name !~ '^stmt' ORDER BY 1")
	if err != nil {
		w.t.Fatal(err)
	}
	var list []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			w.t.Fatal(err)
		}
		list = append(list, name)
	}
	return list
}

func (w *world) claimOne() todo.Todo {
	w.t.Helper()
	got, err := w.Claim(w.t.Context(), ClaimParams{Queues: []string{"q"}, Owner: "a", TTL: time.Minute})
	if err != nil {
		w.t.Fatal(err)
	}
	return got[0]
}

// What is run often is prepared, once, and nothing is where nobody said that it may be: a transaction pooler would
// hand the session to somebody else.
func TestPrepare(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 3 {
		w.add("q")
	}
	w.claimOne()
	if got := w.prepared(); len(got) > 0 {
		t.Errorf("without being told to it has prepared %q", got)
	}
	w.Prepare()
	w.claimOne()
	got := w.claimOne()
	if _, err := w.CompleteEach(t.Context(), []Completion{{Receipt: todo.Receipt{ID: got.ID, Seq: got.LeaseSeq}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Show(t.Context(), got.ID); err != nil { // rarely run: never prepared
		t.Fatal(err)
	}
	if got, want := w.prepared(), []string{"claim", "complete_each", "limits", "notify"}; !slices.Equal(got, want) {
		t.Errorf("prepared are %q, not %q", got, want)
	}
	if n := w.text("SELECT (count(*))::text FROM todos WHERE state = 'done'"); strings.TrimSpace(n) != "1" {
		t.Errorf("%s are done", n)
	}
}

// A prepared statement that is no more what it was costs no work: the schema gets a column, as a migration under a
// running worker gives it, or the session is another one, as behind a pooler.
func TestPreparedStatementsLost(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(*world){
		"new column":      func(w *world) { w.exec("ALTER TABLE todos ADD COLUMN novel int") },
		"another session": func(w *world) { _, _ = w.conn.Exec(w.t.Context(), "DEALLOCATE ALL") },
		"taken name": func(w *world) {
			_, _ = w.conn.Exec(w.t.Context(), "DEALLOCATE ALL")
			_, _ = w.conn.Exec(w.t.Context(), "PREPARE claim AS SELECT 1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for range 3 {
				w.add("q")
			}
			w.Prepare()
			first := w.claimOne()
			act(w)
			second, third := w.claimOne(), w.claimOne()
			if first.ID == second.ID || second.ID == third.ID || third.LeaseSeq != 1 {
				t.Errorf("claimed %s, then %s, then %s", *first.Receipt, *second.Receipt, *third.Receipt)
			}
		})
	}
}

// A listener's connection is a session of its own, so statements are prepared from then on.
func TestListenPrepares(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, err := w.Listen(t.Context(), []string{"q"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close(t.Context(), w.Client)
	w.add("q")
	w.claimOne()
	if got := w.prepared(); !slices.Contains(got, "claim") {
		t.Errorf("prepared are %q", got)
	}
}
