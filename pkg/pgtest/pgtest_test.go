package pgtest_test

import (
	"context"
	"os"
	"testing"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

func TestDatabaseIsMigratedAndFresh(t *testing.T) {
	for range 2 {
		conn := pgtest.Connect(t, pgtest.Database(t))
		var n int
		if err := conn.QueryRow(context.Background(), "SELECT count(*) FROM todos").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n != 0 {
			t.Errorf("a fresh database has %d todos", n)
		}
		if _, err := conn.Exec(context.Background(), "INSERT INTO todos (queue) VALUES ('q')"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEmptyDatabaseHasNoTable(t *testing.T) {
	conn := pgtest.Connect(t, pgtest.EmptyDatabase(t))
	var n int
	if err := conn.QueryRow(context.Background(),
		"SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if n != 0 {
		t.Errorf("an empty database has %d relations", n)
	}
}
