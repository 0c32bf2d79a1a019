package migrate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/pgnet"
	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/todo"
)

// An index built concurrently must not wait for a migrator that holds the lock or asks for it:
// either would end in a deadlock.
func TestLockDoesNotBlockAConcurrentIndexBuild(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	c := pgtest.Connect(t, url)
	m, _ := migrator(t, url, "")
	if _, err := m.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	run(t, c, "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'idx_todos_pool'::regclass")
	errs := make(chan error)
	for range 3 {
		go func() {
			m, _ := migrator(t, url, "")
			_, err := m.Up(context.WithoutCancel(t.Context())) // the first builds the index, the others poll
			errs <- err
		}()
	}
	for range 3 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if got := text(t, c, "SELECT indisvalid::text FROM pg_index WHERE indexrelid = 'idx_todos_pool'::regclass"); got != "true" {
		t.Error("the index is still invalid")
	}
}

func TestWaiterNamesTheHolderAndEndsWithItsTimeout(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	holder := pgtest.Connect(t, url)
	run(t, holder, "SET application_name = 'stuck deploy'")
	run(t, holder, "SELECT pg_advisory_lock(1953457263, hashtext('public'))")

	ctx, cancel := context.WithCancelCause(t.Context())
	m, said := migrator(t, url, "")
	said.seen = make(chan string, 10)
	done := make(chan error)
	go func() { _, err := m.Up(ctx); done <- err }()
	if note := <-said.seen; !strings.Contains(note, "stuck deploy") || !strings.Contains(note, fmt.Sprintf("pid %d", holder.PgConn().PID())) {
		t.Errorf("note: %s", note)
	}
	cancel(&todo.Error{Code: todo.CodeTimeout, Message: "timed out"})
	refused(t, <-done, todo.CodeTimeout, "stuck deploy", "pg_terminate_backend")

	// Once the holder has gone the next one gets through.
	said.seen = nil
	run(t, holder, "SELECT pg_advisory_unlock(1953457263, hashtext('public'))")
	if _, err := m.Up(t.Context()); err != nil {
		t.Error(err)
	}
}

// A migration is not cut short by a limit that the role has for its work. A pooler refuses to lift it.
func TestStatementTimeoutOfTheRoleIsLifted(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	role := ownRole(t, url)
	c := pgtest.Connect(t, url)
	run(t, c, "ALTER ROLE "+role+" SET statement_timeout = '1ms'; GRANT ALL ON SCHEMA public TO "+role)
	m, _ := migrator(t, withUser(t, url, role), "")
	if _, err := m.Up(t.Context()); err != nil {
		t.Error(err)
	}

	p := pgnet.NewProxy(t, pgtest.EmptyDatabase(t))
	p.RefuseParameter("statement_timeout")
	m, said := migrator(t, p.URL(), "")
	if _, err := m.Up(t.Context()); err != nil {
		t.Error(err)
	}
	if !strings.Contains(said.text(), "pooler") {
		t.Errorf("notes: %q", said.text())
	}
	p.RefuseParameter("search_path")
	m, _ = migrator(t, p.URL(), "ops")
	_, err := m.Up(t.Context())
	refused(t, err, todo.CodeUnavailable, "search_path", "ignore_startup_parameters")
}

// An interrupt ends the statement on the server, and what it had done is undone.
func TestInterruptReachesTheServer(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	holder := pgtest.Connect(t, url)
	// The first statement of the migration waits for this table, uncommitted and of the same name.
	run(t, holder, "BEGIN; CREATE TABLE events ()")
	ctx, interrupt := context.WithCancel(t.Context())
	m, _ := migrator(t, url, "")
	errs := make(chan error)
	go func() { _, err := m.Up(ctx); errs <- err }()
	watch := pgtest.Connect(t, url)
	const waiting = "SELECT count(*)::text FROM pg_stat_activity WHERE application_name = 'todoctl migrate' AND wait_event_type = 'Lock'"
	for text(t, watch, waiting) != "1" {
		time.Sleep(10 * time.Millisecond)
	}
	interrupt()
	refused(t, <-errs, todo.CodeInterrupted)
	if got := text(t, watch, waiting); got != "0" {
		t.Error("the migration goes on without us")
	}
	run(t, holder, "ROLLBACK")
	if _, err := m.Up(t.Context()); err != nil {
		t.Errorf("up after the interrupt: %v", err)
	}
}

func TestWaitEndsWhenTheSchemaIsCurrent(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	m, said := migrator(t, url, "")
	said.seen = make(chan string, 10)
	done := make(chan error)
	go func() { done <- m.Wait(t.Context()) }()
	if note := <-said.seen; !strings.Contains(note, "pending") {
		t.Errorf("note: %s", note)
	}
	other, _ := migrator(t, url, "")
	if _, err := other.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	run(t, pgtest.Connect(t, url), "INSERT INTO todoctl_migrations (version) VALUES ('99990101000000')")
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, &todo.Error{Code: todo.CodeTimeout, Message: "timed out"})
	defer cancel()
	said.seen = nil
	refused(t, m.Wait(ctx), todo.CodeTimeout, "last seen", "99990101000000")
}

// A migration that fails names its file, and leaves nothing of itself.
func TestFailureNamesTheFile(t *testing.T) {
	url := pgtest.EmptyDatabase(t)
	c := pgtest.Connect(t, url)
	run(t, c, "CREATE TABLE mine (); CREATE INDEX idx_todos_pool ON mine ((1))") // a name that the migration needs
	m, _ := migrator(t, url, "")
	_, err := m.Up(t.Context())
	refused(t, err, todo.CodeSchema, "_work_queue.sql", "idx_todos_pool", "--schema")
	if got := text(t, c, relations); got != "public.mine public.todoctl_migrations" {
		t.Errorf("left: %s", got)
	}
	run(t, c, "DROP TABLE mine")
	if _, err := m.Up(t.Context()); err != nil {
		t.Errorf("up after the cause is gone: %v", err)
	}
}
