package queue

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// watching starts to wait for names with a bell, and looks for itself only after an hour. The returned function fails the test
// unless a ring ends the waiting.
func (w *world) watching(names ...string) (watch *Watch, rung func(what string)) {
	w.t.Helper()
	c := w.client()
	watch = NewWatch(c, names, true, func(text string) { w.t.Errorf("warned: %s", text) })
	watch.beside = time.Hour
	if !watch.Ready(w.t.Context()) {
		w.t.Fatal("no bell")
	}
	w.t.Cleanup(func() { watch.Close(context.Background()) })
	return watch, func(what string) {
		w.t.Helper()
		select {
		case <-watch.bell.Rings():
		case <-time.After(time.Minute):
			w.t.Fatalf("%s woke nobody", what)
		}
	}
}

// heard returns what is notified until the function has returned, in order.
func (w *world) heard(act func()) string {
	w.t.Helper()
	ear := w.client()
	defer ear.Close()
	if _, err := ear.conn.Exec(w.t.Context(), "LISTEN "+Channel); err != nil {
		w.t.Fatal(err)
	}
	act()
	w.exec("SELECT pg_notify($1, 'the end')", Channel)
	var all []string
	for {
		n, err := ear.conn.WaitForNotification(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if n.Payload == "the end" {
			return strings.Join(all, " ")
		}
		all = append(all, n.Payload)
	}
}

// Of enqueues that meet one rings: NOTIFY would make each wait for the other's flush. Who waits looks again soon after a
// ring, and so finds what the others brought.
func TestOneRingsForMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	watch, rung := w.watching("q")
	another, err := w.client().conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := another.Exec(t.Context(), "SELECT pg_advisory_xact_lock(hashtext('todoctl'), hashtext('q')), pg_notify('todoctl', 'q')"); err != nil {
		t.Fatal(err)
	}
	if got := w.heard(func() { w.add("q") }); got != "" {
		t.Errorf("beside another one it rang %q", got)
	}
	if err := another.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	rung("the other enqueue")
	looks := 0
	for began := time.Now(); time.Since(began) < 2*time.Second && looks < 2; looks++ {
		if err := watch.Next(t.Context(), time.Hour, todo.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if d, _ := watch.Pause(todo.Time{}); looks < 2 || d < 10*time.Second {
		t.Errorf("%d looks after the ring, the next one after %s", looks, d)
	}
	if got := w.heard(func() { w.add("q") }); got != "q" {
		t.Errorf("alone it rang %q", got)
	}
}

// Whatever makes a todo claimable wakes who waits for its queue.
func TestWatchQueue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	_, rung := w.watching("other", "q")
	w.add("q")
	rung("enqueue")
	held := w.takeOne("q", "a")
	w.done(w.Release(ctx, lease(held), nil, nil))
	rung("release")
	held = w.takeOne("q", "a")
	w.done(w.Bury(ctx, []string{held.ID}, BuryParams{Force: true}))
	rung("bury") // which is an end, and makes nothing claimable; operators are few
	w.done(w.Retry(ctx, []string{held.ID}, RetryParams{}))
	rung("retry")
	held = w.takeOne("q", "a")
	w.lapse(held.ID)
	if _, err := w.Reap(ctx, nil, false, nil); err != nil {
		t.Fatal(err)
	}
	rung("reap")
	w.exec("UPDATE todos SET run_at = now() + interval '1 h'")
	w.done(w.Bump(ctx, []string{held.ID}, BumpParams{Front: true}))
	rung("bump")
	if _, err := w.Pause(ctx, []string{"q"}, nil, "op", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Resume(ctx, []string{"q"}, nil); err != nil {
		t.Fatal(err)
	}
	rung("resume")
	for name, size := range map[string]int{"a bulk enqueue": 10, "a staged bulk enqueue": firstBytes + 1} {
		next := source([]NewTodo{{Queue: "q", Payload: `"` + strings.Repeat("x", size) + `"`, MaxAttempts: 1}, {Queue: "unwatched", Payload: "1", MaxAttempts: 1}})
		if _, err := w.EnqueueMany(ctx, next, BulkOptions{}); err != nil {
			t.Fatal(err)
		}
		rung(name)
	}
}

// Whatever ends a todo wakes who waits for it.
func TestWatchTodo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	capped := func(t todo.Todo) {
		w.exec("UPDATE todos SET max_attempts = 1 WHERE id = $1", t.ID)
		w.lapse(t.ID)
	}
	for name, end := range map[string]func(todo.Todo){
		"complete":      func(t todo.Todo) { w.done(w.Complete(ctx, lease(t), nil)) },
		"complete each": func(t todo.Todo) { w.done(w.CompleteEach(ctx, []Completion{{Receipt: receipt(t)}})) },
		"fail":          func(t todo.Todo) { w.done(w.Fail(ctx, lease(t), FailParams{Error: "x", Dead: true})) },
		"bury":          func(t todo.Todo) { w.done(w.Bury(ctx, []string{t.ID}, BuryParams{Force: true})) },
		"reap": func(t todo.Todo) {
			capped(t)
			if r, err := w.Reap(ctx, nil, false, nil); err != nil || r.Dead != 1 {
				w.t.Fatal(r, err)
			}
		},
		"claim at its cap": func(t todo.Todo) {
			capped(t)
			_, err := w.Claim(ctx, one("q", "b"))
			w.is(todo.CodeEmpty, err)
		},
		"claim by id at its cap": func(t todo.Todo) {
			capped(t)
			_, err := w.ClaimID(ctx, t.ID, "b", time.Minute)
			w.is(todo.CodeConflict, err)
		},
	} {
		id := w.add("q")
		_, rung := w.watching("td_none", id)
		end(w.takeOne("q", "a"))
		rung(name)
	}
}

// Where nobody waits nothing is notified, and where somebody does nothing but what he waits for.
func TestNobodyWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	act := func() {
		id := w.add("q")
		w.done(w.Complete(ctx, lease(w.takeOne("q", "a")), nil))
		w.add("q")
		w.done(w.Release(ctx, lease(w.takeOne("q", "a")), nil, nil))
		if _, err := w.EnqueueMany(ctx, source([]NewTodo{{Queue: "q", Payload: "1", MaxAttempts: 1}}), BulkOptions{}); err != nil {
			t.Error(err)
		}
		if _, err := w.Show(ctx, id); err != nil {
			t.Error(err)
		}
		w.exec("DELETE FROM todos")
	}
	if got := w.heard(act); got != "" {
		t.Errorf("where nobody waits, %q is notified", got)
	}
	watch, _ := w.watching("other", "td_none")
	if got := w.heard(act); got != "" {
		t.Errorf("where somebody waits for others, %q is notified", got)
	}
	watch.Close(ctx)
	watch, _ = w.watching("q")
	if got := w.heard(act); got != "q q q q" {
		t.Errorf("where somebody waits for the queue, %q is notified", got)
	}
	watch.Close(ctx)
	if got := w.heard(act); got != "" {
		t.Errorf("when he is gone, %q is notified", got)
	}
	if n := w.text("SELECT count(*)::text FROM waiters"); n != "0" {
		t.Errorf("%s are still noted as waiting", n)
	}
	// One that died without a word is forgotten.
	w.exec("INSERT INTO waiters VALUES ('q', 'dead', now() - interval '1 s')")
	if got := w.heard(act); got != "" {
		t.Errorf("for the dead %q is notified", got)
	}
}

// A bell that is lost wakes its owner, who looks again now and then until there is a new one.
func TestWatchLosesItsBell(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	watch, rung := w.watching("q")
	w.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN todoctl' AND pid <> pg_backend_pid()")
	rung("the end of the bell")
	if watch.Ready(t.Context()) || watch.bell != nil {
		t.Error("a bell is made again at once, however fast it is lost")
	}
	if d, rings := watch.Pause(todo.Time{}); d > longPause*5/4 || rings != nil {
		t.Errorf("looks again in %s", d)
	}
	watch.tried = time.Now().Add(-relistening)
	if !watch.Ready(t.Context()) {
		t.Error("no new bell")
	}
	w.add("q")
	rung("enqueue")
}

// One who has not said for too long that he waits looks once more, since nobody rang for him.
func TestWatchForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	watch, rung := w.watching("q")
	if watch.Ready(t.Context()) {
		t.Error("a bell that rings is taken for new")
	}
	watch.bell.said = time.Now().Add(-bellRenew - time.Second)
	if watch.Ready(t.Context()) {
		t.Error("a bell that was renewed in time is taken for new")
	}
	watch.bell.said = time.Now().Add(-bellLength)
	w.exec("DELETE FROM waiters")
	w.add("q") // and nobody hears it
	if !watch.Ready(t.Context()) {
		t.Error("one who was forgotten does not look again")
	}
	w.add("q")
	rung("enqueue")
	// Where it cannot be said again there is no bell, and that is told once.
	var told []string
	watch.warn = func(text string) { told = append(told, text) }
	watch.bell.said = time.Time{}
	w.exec("ALTER TABLE waiters RENAME TO gone")
	for range 3 {
		if watch.Ready(t.Context()) {
			t.Error("a bell without a name to ring for")
		}
	}
	if len(told) != 1 || !strings.Contains(told[0], "looking again now and then") {
		t.Errorf("told %q", told)
	}
}

// Pauses without a bell grow; with one they are long, and end when something is due.
func TestWatchPauses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	watch := NewWatch(w.Client, []string{"q"}, false, func(text string) { t.Errorf("warned: %s", text) })
	if watch.Ready(t.Context()) {
		t.Error("a bell that nobody asked for")
	}
	last := time.Duration(0)
	for range 20 {
		d, rings := watch.Pause(todo.Time{})
		if rings != nil || d < firstPause || d > longPause*5/4 {
			t.Errorf("pause %s", d)
		}
		last = d
	}
	if last < longPause {
		t.Errorf("after many looks the pause is %s", last)
	}
	watch.Found()
	if d, _ := watch.Pause(todo.Time{}); d > firstPause*5/4 {
		t.Errorf("after a find the pause is %s", d)
	}
	if n := w.text("SELECT count(*)::text FROM waiters"); n != "0" {
		t.Errorf("%s waiters noted", n)
	}
}
