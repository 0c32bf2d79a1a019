package render_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// clock is the server's clock of all tests.
func clock() time.Time { return time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC) }

func ptr[T any](v T) *T { return &v }

// sample is a claimed todo.
func sample(n int, title string) todo.Todo {
	id := "td_0190c6a4-0000-7000-8000-00000000000" + string(rune('0'+n))
	return todo.Todo{
		ID: id, Receipt: ptr(id + "@2"), Queue: "mail", Kind: "welcome", Source: "github", Title: title,
		State: todo.Claimed, Condition: todo.IsClaimed, Owner: ptr("w1@host"), LeaseSeq: 2, Attempt: 2, MaxAttempts: 5,
		LeaseExpiresAt: todo.At(clock().Add(5 * time.Minute)), RunAt: todo.At(clock().Add(-3 * time.Hour)),
		CreatedAt: todo.At(clock().Add(-3 * time.Hour)), UpdatedAt: todo.At(clock()),
		IdempotencyKey: ptr("delivery-1"), Payload: json.RawMessage(`{"n":9007199254740993,"d":1.10,"s":"<&>"}`),
	}
}

// list is the shape of a list of todos, as the list command has it.
func list() render.Shape {
	return render.Shape{
		Many: true, Fields: render.FieldsOf(todo.Todo{}),
		Table: []string{"id", "queue", "condition", "attempt", "created_at:AGE", "title"},
		Wide:  []string{"id", "queue", "kind", "condition", "attempt", "owner", "lease_expires_at:LEASE", "created_at:AGE", "title"},
		TSV:   []string{"id", "queue", "condition", "attempt", "created_at", "title"},
	}
}

// one is the same for one todo.
func one() render.Shape {
	s := list()
	s.Many = false
	return s
}

func show(t testing.TB, s render.Shape, o render.Options, rows ...any) string {
	t.Helper()
	var b bytes.Buffer
	w, err := render.New(&b, s, o)
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	for _, r := range rows {
		if err := w.Row(r); err != nil {
			t.Fatalf("Row: %v", err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	return b.String()
}

// golden compares with a file under testdata, which -update rewrites.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got\n%s\nwant\n%s", path, got, want)
	}
}

// refused asserts a usage error of Check and New whose message and hint hold the words.
func refused(t *testing.T, s render.Shape, o render.Options, words ...string) {
	t.Helper()
	err := render.Check(s, o)
	var e *todo.Error
	if !errors.As(err, &e) || e.Code != todo.CodeUsage {
		t.Fatalf("%+v: error is %v, want a usage error", o, err)
	}
	for _, word := range words {
		if !strings.Contains(e.Message+"\n"+e.Hint, word) {
			t.Errorf("no %q in %q, hint %q", word, e.Message, e.Hint)
		}
	}
	if _, err := render.New(&bytes.Buffer{}, s, o); err == nil || err.Error() != e.Error() {
		t.Errorf("New says %v, Check %v", err, e)
	}
}

// forms returns the names of the forms that a list can have.
func forms() []string {
	var all []string
	for _, f := range render.Formats() {
		if f.Name != render.EnvForm {
			all = append(all, f.Name)
		}
	}
	slices.Sort(all)
	return all
}
