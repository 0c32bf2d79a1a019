package queue

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Without traffic undo restores every row byte for byte, history and all, whatever the verb; a dry run says so and changes
// nothing, and a second undo is refused.
func TestUndoRestoresEveryRow(t *testing.T) {
	t.Parallel()
	for name, verb := range undoable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.exec(undoRows, pgx.QueryExecModeSimpleProtocol)
			before := w.everything()
			n, err := verb(w)
			if err != nil {
				t.Fatal(err)
			}
			after, op := w.everything(), w.last()
			if after == before {
				t.Fatal("the verb changed nothing")
			}
			if u, err := w.Undo(t.Context(), UndoParams{Op: op, DryRun: true}, nil); err != nil || u.Matched != n || u.Changed+u.Skipped+u.Superseded != 0 || u.Op != nil {
				t.Errorf("dry run: %+v, %v", u, err)
			}
			if got := w.everything(); got != after || w.last() != op {
				t.Errorf("the dry run changed something:\n%s", cmp.Diff(after, got))
			}
			u, err := w.Undo(t.Context(), UndoParams{Op: op, Reason: ptr("oops")}, nil)
			if err != nil || u.Changed != n || u.Matched != n || len(u.Refused) != 0 {
				t.Errorf("%+v, %v", u, err)
			}
			if got := w.everything(); got != before {
				t.Errorf("not as before:\n%s", cmp.Diff(before, got))
			}
			e, _, err := w.Entry(t.Context(), *u.Op)
			if err != nil || e.Verb != "undo" || *e.Undoes != op || int(e.Changed) != n || *e.Reason != "oops" {
				t.Errorf("the journal says %+v, %v", e, err)
			}
			if e, _, err := w.Entry(t.Context(), op); err != nil || e.UndoneBy == nil || *e.UndoneBy != *u.Op ||
				w.text("SELECT count(DISTINCT queues)::text FROM todo_journal WHERE op = ANY ($1)", []string{op, *u.Op}) != "1" {
				t.Errorf("the journal says of what was undone %+v, %v", e, err)
			}
			again, err := w.Undo(t.Context(), UndoParams{Op: op}, nil)
			if err != nil || again.Changed != 0 || again.Skipped != n || len(again.Refused) != n || !strings.Contains(again.Refused[0].Message, *u.Op) {
				t.Errorf("again: %+v, %v", again, err)
			}
			if got := w.everything(); got != before {
				t.Errorf("the second undo changed something:\n%s", cmp.Diff(before, got))
			}
			_, err = w.Undo(t.Context(), UndoParams{Op: *u.Op}, nil)
			if todo.CodeOf(err) != todo.CodeConflict {
				t.Errorf("undo of the undo: %v", err)
			}
			sound(t.Context(), t, w.sql)
		})
	}
}

// What moved since is left as it is, each told with its reason; the rest is put back.
func TestUndoLeavesAloneWhatMoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.exec(undoRows, pgx.QueryExecModeSimpleProtocol)
	rows := func(where string) string {
		return w.text("SELECT t::text FROM todos t WHERE " + where + " ORDER BY id")
	}
	before := rows("id LIKE 'td_dead%'")
	if _, err := w.RetryAll(ctx, Filter{Conditions: []todo.Condition{todo.IsDead}}, RetryParams{}, nil); err != nil {
		t.Fatal(err)
	}
	op := w.last()
	claimed, err := w.ClaimID(ctx, "td_dead1", "w", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	w.done(w.Release(ctx, lease(claimed), nil, nil)) // pending again, with its old attempt
	w.done(w.Bump(ctx, []string{"td_dead2"}, BumpParams{Front: true}))
	w.exec("DELETE FROM todos WHERE id = 'td_dead3'")
	moved := rows("id IN ('td_dead1', 'td_dead2')")
	u, err := w.Undo(ctx, UndoParams{Op: op}, nil)
	if err != nil || u.Matched != 5 || u.Changed != 2 || u.Skipped != 3 {
		t.Fatalf("%+v, %v", u, err)
	}
	for i, want := range []string{"moved since: it is pending, after 3 leases", "moved since: it is pending", "gone"} {
		if r := u.Refused[i]; r.ID != fmt.Sprint("td_dead", i+1) || !strings.Contains(r.Message, want) {
			t.Errorf("refusal %d: %+v", i, r)
		}
	}
	if got := rows("id IN ('td_dead1', 'td_dead2')"); got != moved {
		t.Errorf("what had moved was touched:\n%s", cmp.Diff(moved, got))
	}
	if got := rows("id IN ('td_dead4', 'td_dead5')"); !strings.HasSuffix(before, got) {
		t.Errorf("not put back:\n%s", got)
	}
	// Queues: paused, resumed and paused again is not as the first pause left it.
	if _, err := w.Pause(ctx, []string{"q"}, nil, "ann", nil); err != nil {
		t.Fatal(err)
	}
	first := w.last()
	if _, err := w.Resume(ctx, []string{"q"}, nil); err != nil {
		t.Fatal(err)
	}
	second := w.last()
	if u, err := w.Undo(ctx, UndoParams{Op: first}, nil); err != nil || u.Changed != 0 || u.Skipped != 1 {
		t.Errorf("pause, resumed since: %+v, %v", u, err)
	}
	// But what was undone since is as if it had not been.
	for _, op := range []string{second, first} {
		if u, err := w.Undo(ctx, UndoParams{Op: op}, nil); err != nil || u.Changed != 1 {
			t.Errorf("one after the other: %+v, %v", u, err)
		}
	}
	if got := w.text("SELECT concat_ws(' ', name, paused_at, paused_by) FROM queues WHERE name = 'q'"); got != "q" {
		t.Errorf("the queue is %q", got)
	}
}

// A key that a live todo has taken since is a conflict, as are a purge whose todo or event is there again or gone.
func TestUndoOfTakenKeysAndGoneEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	a, b := w.add("q", key("k")), w.add("q", key("l"))
	if _, err := w.Bury(ctx, []string{a, b}, BuryParams{}); err != nil {
		t.Fatal(err)
	}
	op, live := w.last(), w.add("q", key("k"))
	u, err := w.Undo(ctx, UndoParams{Op: op}, nil)
	if err != nil || u.Changed != 1 || u.Superseded != 1 || !strings.Contains(u.Refused[0].Message, live) || u.Refused[0].ID != a {
		t.Errorf("%+v, %v", u, err)
	}
	if got := w.text("SELECT id FROM todos WHERE state = 'pending' ORDER BY id"); got != b+"\n"+live {
		t.Errorf("pending: %q", got)
	}
	// Its key is free again, and it has not moved: now it can be put back.
	if _, err := w.Complete(ctx, lease(w.take(some("q", "w", 2))...), nil); err != nil {
		t.Fatal(err)
	}
	if u, err := w.Undo(ctx, UndoParams{Op: op}, nil); err != nil || u.Changed != 1 || u.Skipped != 1 {
		t.Errorf("once the key is free: %+v, %v", u, err)
	}

	w.exec("TRUNCATE todos, todo_attempts, queues")
	w.exec(undoRows, pgx.QueryExecModeSimpleProtocol)
	if s, err := w.Purge(ctx, Filter{}, nil, nil); err != nil || s.Changed != 5 {
		t.Fatal(s, err)
	}
	op = w.last()
	w.exec("UPDATE todos SET event_id = NULL; DELETE FROM events")
	w.exec("INSERT INTO todos (id, queue) VALUES ('td_dead3', 'other')")
	w.exec(`UPDATE todo_journal_rows SET image = image || '{"event_id": null}' WHERE id IN ('td_dead1', 'td_dead3')`)
	u, err = w.Undo(ctx, UndoParams{Op: op}, nil)
	if err != nil || u.Changed != 1 || u.Skipped != 4 || !strings.Contains(u.Refused[0].Message, "event") || !strings.Contains(u.Refused[1].Message, "there again") {
		t.Errorf("%+v, %v", u, err)
	}
	if got := w.text("SELECT queue FROM todos WHERE id IN ('td_dead1', 'td_dead3') ORDER BY id"); got != "q\nother" {
		t.Errorf("queues: %q", got)
	}
	sound(ctx, t, w.sql)
}

// A verb without before-images, and one whose images are over, cannot be undone.
func TestUndoOfWhatIsNotKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.exec(undoRows, pgx.QueryExecModeSimpleProtocol)
	refused := func(op string, code todo.Code, word string) {
		t.Helper()
		before := w.everything()
		if _, err := w.Undo(ctx, UndoParams{Op: op}, nil); todo.CodeOf(err) != code || !strings.Contains(err.Error(), word) {
			t.Errorf("%v, want %s with %s", err, code, word)
		}
		if w.everything() != before {
			t.Error("something changed")
		}
	}
	refused("op_none", todo.CodeNotFound, "journal")
	if _, err := w.Prune(ctx, PruneParams{States: []todo.Condition{todo.IsDone}}, nil); err != nil {
		t.Fatal(err)
	}
	refused(w.last(), todo.CodeConflict, "prune keeps no before-images")
	if _, err := w.Purge(ctx, Filter{}, nil, nil); err != nil {
		t.Fatal(err)
	}
	w.exec("UPDATE todo_journal SET kept_until = now() - interval '1 s'")
	refused(w.last(), todo.CodeConflict, "gone")
}

// Two undos of one op at once put each row back once: what one does the other finds done.
func TestUndoTwiceAtOnce(t *testing.T) {
	t.Parallel()
	for name, verb := range map[string]string{"bury": "bury", "purge": "purge"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			const n = 3000
			w.exec(`INSERT INTO todos (id, queue, idempotency_key, state, completed_at, error)
				SELECT 'td_' || lpad(i::text, 6, '0'), 'q', i, CASE WHEN $1 = 'purge' THEN 'failed' ELSE 'pending' END, CASE WHEN $1 = 'purge' THEN now() END, 'x'
				FROM generate_series(1, 3000) i`, verb)
			before := w.everything()
			var s Sweep
			var err error
			if verb == "purge" {
				s, err = w.Purge(t.Context(), Filter{}, nil, nil)
			} else {
				s, err = w.BuryAll(t.Context(), Filter{}, BuryParams{}, nil)
			}
			if err != nil || s.Changed != n {
				t.Fatal(s, err)
			}
			var wg sync.WaitGroup
			var undone [4]Undone
			var errs [4]error
			for i := range undone {
				c := w.client()
				wg.Go(func() { undone[i], errs[i] = c.Undo(t.Context(), UndoParams{Op: *s.Op}, nil) })
			}
			wg.Wait()
			changed, ops := 0, []string{}
			for i, u := range undone {
				if errs[i] != nil {
					t.Errorf("undo: %v", errs[i])
				}
				if changed += u.Changed; u.Op != nil {
					ops = append(ops, *u.Op)
				}
				if u.Changed+u.Skipped != n {
					t.Errorf("%d put back and %d not, of %d", u.Changed, u.Skipped, n)
				}
			}
			if changed != n {
				t.Errorf("%d were put back, of %d", changed, n)
			}
			if got := w.everything(); got != before {
				t.Error("not as before")
			}
			if got := w.text("SELECT count(*)::text || ' ' || count(DISTINCT id)::text FROM todo_journal_rows WHERE op = ANY ($1)", ops); got != "3000 3000" {
				t.Errorf("rows of the undos, and distinct: %s", got)
			}
		})
	}
}

// A column that a later migration adds to todos must be one that undo brings back.
func TestUndoNamesEveryColumn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for table, file := range map[string]string{"todos": "undo_purge", "todo_attempts": "undo_purge", "queues": "undo_queues"} {
		sql, err := statement(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, column := range strings.Fields(w.text("SELECT column_name::text FROM information_schema.columns WHERE table_name = $1 AND is_generated = 'NEVER'", table)) {
			if !strings.Contains(sql, "."+column+",") && !strings.Contains(sql, "."+column+" ELSE") && !strings.Contains(sql, "."+column+" END") && !strings.Contains(sql, "."+column+"\n") && column != "name" {
				t.Errorf("%s.sql does not bring back %s of %s", file, column, table)
			}
		}
	}
}
