package queue

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/todo"
)

// entries are the rows of the journal as text, in the order in which they came about.
func (w *world) entries() string {
	return w.text(`SELECT concat_ws(' ', verb, who, host, matched, changed, filter, options, reason, (SELECT count(*) FROM todo_journal_rows r WHERE r.op = j.op))
		FROM todo_journal j ORDER BY at, op`)
}

// Every verb of an operator leaves a row that says who, where, what and how many; workers leave none.
func TestJournalOfEveryVerb(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	opt := options(w.url)
	opt.Who, opt.Host = "ann", "desk"
	c, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	w.Client = c
	ctx := t.Context()

	a := w.add("q")
	w.done(w.Release(ctx, lease(w.takeOne("q", "w")), nil, nil))
	held := w.takeOne("q", "w")
	if _, err := w.Heartbeat(ctx, lease(held), time.Minute); err != nil {
		t.Fatal(err)
	}
	w.done(w.Fail(ctx, lease(held), FailParams{Error: "x"}))
	w.lapse(a)
	w.done(w.Complete(ctx, lease(w.takeOne("q", "w")), nil))
	if got := w.entries(); got != "" {
		t.Fatalf("workers left %q", got)
	}

	b := w.add("q")
	var want []string
	did := func(line string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, "ann desk "+line)
		lines := strings.Split(w.entries(), "\n")
		verb, _, _ := strings.Cut(line, " ")
		rest := strings.TrimPrefix(line, verb+" ")
		if last := lines[len(lines)-1]; len(lines) != len(want) || last != verb+" ann desk "+rest {
			t.Fatalf("after %s the journal is %q, want %q at its end", verb, lines, verb+" ann desk "+rest)
		}
	}
	_, err = w.Bump(ctx, []string{b}, BumpParams{By: time.Hour, Reason: ptr("late")})
	did(`bump 1 1 {"by": "1h0m0s"} late 1`, err)
	_, err = w.BuryAll(ctx, Filter{Queues: []string{"q"}}, BuryParams{Reason: ptr("spam")}, nil)
	did(`bury 2 1 {"queue": ["q"]} {} spam 1`, err)
	_, err = w.Retry(ctx, []string{a, b}, RetryParams{MaxAttempts: ptr(2)})
	did(`retry 2 1 {"max_attempts": 2} 1`, err)
	list, err := w.Fail(ctx, LeaseParams{Receipts: []todo.Receipt{receipt(w.takeOne("q", "w"))}, Force: true}, FailParams{Error: "stuck", Dead: true})
	w.done(list, err)
	did(`fail 1 1 {"dead": true, "force": true} stuck 1`, err)
	_, err = w.RetryAll(ctx, Filter{Conditions: []todo.Condition{todo.IsDead}}, RetryParams{}, nil)
	did(`retry 1 1 {"state": ["dead"]} {} 1`, err)
	list, err = w.Release(ctx, LeaseParams{Receipts: []todo.Receipt{{ID: w.takeOne("q", "w").ID}, {ID: a}}, Force: true}, ptr(time.Minute), nil)
	w.done(list[:1], err)
	did(`release 1 1 {"delay": "1m0s", "force": true} 1`, err)
	_, err = w.Pause(ctx, []string{"q", "r"}, nil, "ann", ptr("down"))
	did(`pause 2 2 {} down 2`, err)
	_, err = w.Resume(ctx, []string{"q", "unknown"}, ptr("up"))
	did(`resume 1 1 {} up 1`, err)
	_, err = w.Bury(ctx, []string{b}, BuryParams{})
	did(`bury 1 1 {} 1`, err)
	_, err = w.Purge(ctx, Filter{}, ptr("gone"), nil)
	did(`purge 1 1 {"state": ["dead"]} {} gone 1`, err)
	_, err = w.Prune(ctx, PruneParams{States: []todo.Condition{todo.IsDone}}, nil)
	did(`prune 1 1 {"keep": 0, "state": ["done"], "older_than": "0s"} {} 0`, err)

	if got := w.text("SELECT string_agg(verb || array_to_string(queues, ''), ' ' ORDER BY at, op) FROM todo_journal"); got !=
		"bumpq buryq retryq failq retryq releaseq pauseqr resumeq buryq purgeq pruneq" {
		t.Errorf("the queues that were touched: %s", got)
	}

	// What was refused, and what found nothing, leaves no row.
	_, err = w.Retry(ctx, []string{a, b}, RetryParams{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = w.Resume(ctx, []string{"q"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err = w.Prune(ctx, PruneParams{States: []todo.Condition{todo.IsDone}}, nil); err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Split(w.entries(), "\n")); n != len(want) {
		t.Errorf("%d rows after verbs that changed nothing, want %d", n, len(want))
	}
}

// A verb by filter that works in parts extends one row, and a part that fails leaves neither change nor count.
func TestJournalOfParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`INSERT INTO todos (id, queue, state, completed_at) SELECT 'td_' || lpad(i::text, 5, '0'), 'q', 'failed', now() FROM generate_series(1, 2500) i`)
	parts := 0
	s, err := w.RetryAll(t.Context(), Filter{Conditions: []todo.Condition{todo.IsDead}}, RetryParams{}, func(Sweep) {
		if parts++; parts == 2 {
			w.exec(`CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END';
				CREATE TRIGGER no BEFORE INSERT OR UPDATE ON todo_journal FOR EACH ROW EXECUTE FUNCTION no()`, pgx.QueryExecModeSimpleProtocol)
		}
	})
	if err == nil || s.Changed != 2000 || s.Op == nil {
		t.Fatalf("%+v, %v", s, err)
	}
	if got := w.text("SELECT concat_ws(' ', verb, matched, changed, ended_at > at) FROM todo_journal"); got != "retry 2000 2000 t" {
		t.Errorf("the journal says %q", got)
	}
	if got := w.text("SELECT count(*)::text FROM todos WHERE state = 'pending' UNION ALL SELECT count(*)::text FROM todo_journal_rows"); got != "2000\n2000" {
		t.Errorf("todos and rows of the journal: %q", got)
	}
	ids, err := w.Touched(t.Context(), *s.Op, "td_01000", 3)
	if err != nil || fmt.Sprint(ids) != fmt.Sprint([]Touched{{ID: "td_01001"}, {ID: "td_01002"}, {ID: "td_01003"}}) {
		t.Errorf("a page of what it touched: %+v, %v", ids, err)
	}
}

// A role that may only read sees the journal.
func TestJournalUnderAReadOnlyRole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.Bury(t.Context(), []string{w.add("q")}, BuryParams{}); err != nil {
		t.Fatal(err)
	}
	const role = "journal_reader"
	w.exec("CREATE ROLE " + role)
	w.exec("GRANT USAGE ON SCHEMA public TO " + role)
	w.exec("GRANT SELECT ON ALL TABLES IN SCHEMA public TO " + role)
	c, err := Open(t.Context(), Options{Connect: func(ctx context.Context) (*pgx.Conn, error) {
		conn, err := dbconn.Connect(ctx, dbconn.Options{URL: w.url, Source: "test", AppName: "todoctl test"})
		if err == nil {
			_, err = conn.Exec(ctx, "SET ROLE "+role)
		}
		return conn, err
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	list, _, err := c.Journal(t.Context(), JournalFilter{Verbs: []string{"bury"}}, "", 10)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	if ids, err := c.Touched(t.Context(), list[0].Op, "", 10); err != nil || len(ids) != 1 {
		t.Errorf("%+v, %v", ids, err)
	}
	if _, err := c.Bump(t.Context(), []string{"td_x"}, BumpParams{Front: true}); todo.CodeOf(err) != todo.CodeDenied {
		t.Errorf("the role may write: %v", err)
	}
}

// Before-images go once their time is over: by the next verb that writes some, and by prune. The rows of the journal stay for a year.
func TestJournalDropsBeforeImages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	bump := func() {
		t.Helper()
		w.done(w.Bump(ctx, []string{w.add("q")}, BumpParams{Front: true}))
	}
	images := func() string {
		return w.text("SELECT (SELECT count(*) FROM todo_journal) || ' ' || (SELECT count(*) FROM todo_journal_rows) || ' ' || (SELECT count(kept_until) FROM todo_journal)")
	}
	bump()
	bump()
	if got := images(); got != "2 2 2" {
		t.Fatalf("journal, rows, kept: %s", got)
	}
	w.exec("UPDATE todo_journal SET kept_until = now() - interval '1 s'")
	bump()
	if got := images(); got != "3 1 1" {
		t.Errorf("after the next verb: %s", got)
	}
	// More than one transaction drops at once: a verb drops that many, prune goes on.
	w.exec(`INSERT INTO todo_journal_rows (op, id) SELECT op, 'td_' || i FROM todo_journal, generate_series(1, 12000) i WHERE kept_until IS NOT NULL`)
	w.exec("UPDATE todo_journal SET kept_until = now() - interval '1 s' WHERE kept_until IS NOT NULL")
	bump()
	if got := images(); got != "4 2002 2" {
		t.Errorf("after a verb beside many: %s", got)
	}
	if _, err := w.Prune(ctx, PruneParams{States: []todo.Condition{todo.IsDone}}, nil); err != nil {
		t.Fatal(err)
	}
	if got := images(); got != "4 1 1" {
		t.Errorf("after prune: %s", got)
	}
	// The journal's own rows go after a year, but neither what may still be undone nor what went on until lately.
	w.exec("UPDATE todo_journal SET at = now() - interval '366 d'")
	w.exec("UPDATE todo_journal SET ended_at = now() - interval '366 d' WHERE op > (SELECT min(op) FROM todo_journal)")
	if _, err := w.Prune(ctx, PruneParams{States: []todo.Condition{todo.IsDone}}, nil); err != nil {
		t.Fatal(err)
	}
	if got := images(); got != "2 1 1" {
		t.Errorf("after a prune a year later: %s", got)
	}
}
