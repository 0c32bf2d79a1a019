package render_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

// mixed are rows that stress a table: long, wide, empty, hostile and in every condition.
func mixed() []any {
	var rows []any
	for i, title := range []string{
		"short", strings.Repeat("a long title that cannot fit ", 5), "日本語のタイトルはとても長いので切られます、たぶんここで",
		"", "red \x1b[31mALERT\x1b[0m", "👨‍👩‍👧 family and ⚔️ swords", "العربية עברית",
	} {
		v := sample(i, title)
		c := todo.Conditions()[i]
		v.Condition = c
		v.CreatedAt = todo.At(clock().Add(-time.Duration(i*i*i) * 7 * time.Minute))
		rows = append(rows, v)
	}
	return rows
}

func TestTablesFit(t *testing.T) {
	for _, width := range []int{40, 60, 80, 120, 0} {
		for _, form := range []string{render.Table, render.Wide} {
			got := show(t, list(), render.Options{Format: form, Width: width, TTY: true, Now: clock()}, mixed()...)
			golden(t, fmt.Sprintf("list-%s-%d", form, width), got)
			limit := width
			if limit == 0 {
				limit = 80
			}
			for line := range strings.Lines(got) {
				if n := displayWidth(line); form == render.Table && n > limit {
					t.Errorf("width %d: %d cells in %q", width, n, line)
				}
			}
			for _, row := range mixed() {
				if id := row.(item).ID; !strings.Contains(got, id) {
					t.Errorf("width %d: the id %s is cut", width, id)
				}
			}
		}
	}
}

func TestColumnsGiveWay(t *testing.T) {
	s := list()
	s.Table = []string{"id", "queue", "kind?", "source?", "title", "assignee", "condition", "attempt:TRY?", "max_attempts:MAX"}
	var rows []any
	for i := range 3 {
		rows = append(rows, sample(i, "a title of some length"))
	}
	for width, want := range map[int]string{
		200: "ID QUEUE KIND SOURCE TITLE ASSIGNEE CONDITION TRY MAX",
		92:  "ID QUEUE KIND SOURCE TITLE CONDITION TRY MAX",
		90:  "ID QUEUE KIND SOURCE TITLE CONDITION TRY MAX",
		85:  "ID QUEUE KIND SOURCE TITLE CONDITION MAX",
		80:  "ID QUEUE KIND TITLE CONDITION MAX",
		73:  "ID QUEUE TITLE CONDITION MAX",
		60:  rows[0].(item).ID,
	} {
		got := show(t, s, render.Options{Format: render.Table, Width: width}, rows...)
		header, _, _ := strings.Cut(got, "\n")
		if have := strings.Join(strings.Fields(header), " "); have != want {
			t.Errorf("width %d: %s, want %s", width, have, want)
		}
		for line := range strings.Lines(got) {
			if n := displayWidth(line); n > width {
				t.Errorf("width %d: %d cells in %q", width, n, line)
			}
		}
	}
}

// details is what show answers with.
type details struct {
	item
	History []todo.Attempt `json:"history"`
	Event   *todo.Event    `json:"event"`
}

func TestSheets(t *testing.T) {
	v := sample(1, strings.Repeat("a long title ", 12))
	v.Error = ptr("panic: no\n\tat main.go:1\nexit \x1b[1m2")
	v.Result = ptr(json.RawMessage(`[1.10,"\u202e"]`))
	d := details{item: v, Event: &todo.Event{ID: "ev_1", Source: "github", Payload: json.RawMessage("1")},
		History: []todo.Attempt{{LeaseSeq: 1, Attempt: 1, Owner: ptr("w0"), EndedAt: todo.At(clock().Add(-time.Hour)), Outcome: "failed", Error: ptr("boom")}}}
	s := render.Shape{Fields: render.FieldsOf(details{}), Payload: true}
	for _, width := range []int{40, 80, 0} {
		got := show(t, s, render.Options{Format: render.Table, Width: width, TTY: true, Now: clock()}, d)
		golden(t, fmt.Sprintf("show-%d", width), got)
	}
	got := show(t, one(), render.Options{Format: render.Table}, sample(1, "x"))
	golden(t, "one", got)
	d.History, d.Event = nil, nil
	if got := show(t, s, render.Options{Format: render.Table}, d); strings.Contains(got, "history") != true || strings.Contains(got, "null") {
		t.Errorf("without history and event:\n%s", got)
	}
}

func TestMachineForms(t *testing.T) {
	for _, form := range []string{render.JSON, render.JSONL, render.CSV, render.TSV, render.ID, render.Receipt} {
		never := sample(2, "tab\there \"quoted\", back\\slash\nline")
		never.Receipt = nil
		golden(t, "many-"+form, show(t, list(), render.Options{Format: form}, sample(1, "hello"), never))
		golden(t, "one-"+form, show(t, one(), render.Options{Format: form}, sample(1, "hello")))
		golden(t, "tty-"+form, show(t, list(), render.Options{Format: form, TTY: true}, sample(1, "del \x7f c1 \u0085 rlo \u202e tag \U000E0041 zwj 👨‍👩‍👧")))
	}
}

func TestAges(t *testing.T) {
	for _, c := range []struct {
		ago  time.Duration
		want string
	}{
		{0, "0s"}, {999 * time.Millisecond, "0s"}, {99 * time.Second, "99s"}, {100 * time.Second, "1m"}, {99 * time.Minute, "99m"},
		{100 * time.Minute, "1h"}, {47 * time.Hour, "47h"}, {48 * time.Hour, "2d"}, {400 * 24 * time.Hour, "400d"},
		{-500 * time.Millisecond, "0s"}, {-time.Second, "in 1s"}, {-5 * time.Minute, "in 5m"}, {-72 * time.Hour, "in 3d"},
	} {
		if got := render.Age(clock().Add(-c.ago), clock()); got != c.want {
			t.Errorf("%v ago is %q, want %q", c.ago, got, c.want)
		}
	}
}

// The words infinity and -infinity are what PostgreSQL can hold in a timestamp.
func TestCaseC150InfiniteTimes(t *testing.T) {
	v := sample(1, "x")
	if err := v.LeaseExpiresAt.Scan("infinity"); err != nil {
		t.Fatal(err)
	}
	if err := v.NextRetryAt.Scan("-infinity"); err != nil {
		t.Fatal(err)
	}
	fields := []string{"lease_expires_at", "next_retry_at", "completed_at"}
	for form, want := range map[string]string{
		render.JSONL: `{"lease_expires_at":"infinity","next_retry_at":"-infinity","completed_at":null}` + "\n",
		render.TSV:   "infinity\t-infinity\t\n",
		render.Table: "LEASE EXPIRES  NEXT RETRY  COMPLETED\ninfinity       -infinity            \n",
	} {
		if got := show(t, list(), render.Options{Format: form, Fields: fields, Now: clock()}, v); got != want {
			t.Errorf("%s: got %q, want %q", form, got, want)
		}
	}
	if got := show(t, one(), render.Options{Format: render.EnvForm}, v); !strings.Contains(got, "TODO_DEADLINE=''\n") {
		t.Errorf("an infinite deadline is not empty:\n%s", got)
	}
}

// TestSecondsAreASpanInTables: a field of seconds is a number for machines and a span for people.
func TestSecondsAreASpanInTables(t *testing.T) {
	row := map[string]any{"id": "a", "oldest_seconds": 187.25}
	shape := render.Shape{Many: true, Fields: []string{"id", "oldest_seconds"}}
	for format, want := range map[string]string{render.Table: "3m", render.TSV: "187.25", render.JSON: "187.25"} {
		var out strings.Builder
		w, err := render.New(&out, shape, render.Options{Format: format})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(w.Row(row), w.Close()); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v\n%s", format, err, out.String())
		}
	}
}
