package render_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

// clock is the server's clock of all tests.
func clock() time.Time { return time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC) }

func ptr[T any](v T) *T { return &v }

// item is a todo as it was when these tests were written: fields are added to the real one, and the
// golden files shall not change with it.
type item struct {
	ID             string           `json:"id"`
	Receipt        *string          `json:"receipt"` // td_<uuid>@<lease_seq>; null before the first lease
	Queue          string           `json:"queue"`
	Kind           string           `json:"kind"`
	Source         string           `json:"source"`
	Title          string           `json:"title"`
	State          todo.State       `json:"state"`
	Condition      todo.Condition   `json:"condition"`
	Owner          *string          `json:"owner"`
	LeaseExpiresAt todo.Time        `json:"lease_expires_at"`
	LeaseSeq       int              `json:"lease_seq"`
	Attempt        int              `json:"attempt"`
	MaxAttempts    int              `json:"max_attempts"`
	RunAt          todo.Time        `json:"run_at"`
	NextRetryAt    todo.Time        `json:"next_retry_at"`
	AvailableAt    todo.Time        `json:"available_at"`
	Assignee       *string          `json:"assignee"`
	IdempotencyKey *string          `json:"idempotency_key"`
	EventID        *string          `json:"event_id"`
	Error          *string          `json:"error"`
	Fingerprint    *string          `json:"fingerprint"`
	Payload        json.RawMessage  `json:"payload"`
	Result         *json.RawMessage `json:"result"`
	CreatedAt      todo.Time        `json:"created_at"`
	UpdatedAt      todo.Time        `json:"updated_at"`
	ClaimedAt      todo.Time        `json:"claimed_at"`
	CompletedAt    todo.Time        `json:"completed_at"`
}

// sample is a claimed todo.
func sample(n int, title string) item {
	id := "td_0190c6a4-0000-7000-8000-00000000000" + string(rune('0'+n))
	return item{
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
		Many: true, Fields: render.FieldsOf(item{}),
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

// golden compares with a file under testdata, which UPDATE_GOLDEN=1 rewrites.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if os.Getenv("UPDATE_GOLDEN") != "" {
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
