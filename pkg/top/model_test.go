package top

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

// desk is a model with known pictures, and what it asked of its source.
type desk struct {
	*Model
	t     *testing.T
	asked []string
}

func newDesk(t *testing.T, color bool, phrase string) *desk {
	d := &desk{t: t}
	note := func(format string, args ...any) { d.asked = append(d.asked, fmt.Sprintf(format, args...)) }
	d.Model = New(context.Background(), Source{
		Look:   func(context.Context) (Picture, error) { note("look"); return Picture{}, errors.New("away") },
		Groups: func(context.Context) ([]queue.Group, error) { note("groups"); return nil, nil },
		Todos: func(_ context.Context, f queue.Filter) ([]todo.Todo, error) {
			note("todos %v %v", f.Queues, f.Fingerprints)
			return []todo.Todo{{ID: "td_1", Queue: "mail", Condition: todo.IsDead, State: todo.Failed, Error: new("no \x1b[31mhost\u202e"), MaxAttempts: 5}}, nil
		},
		Todo: func(_ context.Context, id string) (queue.Whole, error) {
			note("todo %s", id)
			return queue.Whole{Todo: todo.Todo{ID: id, Queue: "mail", Title: "bell\a", Payload: []byte(`{"n":1.10}`)}}, nil
		},
		Retry: func(_ context.Context, fp string, n int64) (string, error) {
			note("retry %s %d", fp, n)
			return "retried 7 of 7", nil
		},
		Phrase: phrase,
		Where:  "prod", Color: color,
	})
	now := time.Date(2026, 12, 1, 14, 0, 0, 0, time.UTC)
	for i := range 3 {
		d.Update(pictureMsg{picture: Picture{Now: now.Add(time.Duration(i) * time.Second),
			Queues: []queue.Counts{{Queue: "billing", Pending: 5}, {Queue: "mail", Pending: int64(100 * i), Dead: 9, Paused: true}, {Queue: "évil\x1b]0;x\a", Pending: 1234567}},
			Leases: []todo.Todo{{ID: "td_" + strings.Repeat("a", 36), Queue: "mail", Owner: new("w@host"), Attempt: 1, MaxAttempts: 5, LeaseExpiresAt: todo.At(now.Add(time.Minute))}},
			Moves:  map[string]Moves{"mail": {In: 10, Out: 5}}}})
	}
	d.Update(groupsMsg{groups: []queue.Group{{Fingerprint: new("a41f"), Count: 7, Queues: []string{"mail"}, Last: todo.At(now), Sample: new("timeout after 30 s")},
		{Fingerprint: new("b52a"), Count: 2, Queues: []string{"billing"}, Sample: new("no\nhost \u202e")}}})
	return d
}

// press presses keys and runs what they ask for.
func (d *desk) press(keys ...string) {
	d.t.Helper()
	named := map[string]tea.KeyPressMsg{"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "down": {Code: tea.KeyDown},
		"up": {Code: tea.KeyUp}, "end": {Code: tea.KeyEnd}, "home": {Code: tea.KeyHome}, "pgdown": {Code: tea.KeyPgDown}, "backspace": {Code: tea.KeyBackspace}}
	for _, k := range keys {
		msg, ok := named[k]
		if !ok {
			msg = tea.KeyPressMsg{Code: []rune(k)[0], Text: k}
		}
		if _, cmd := d.Update(msg); cmd != nil {
			if answer := cmd(); answer != nil {
				d.Update(answer)
			}
		}
	}
}

// screen is what is shown, without the marks of bold, faint and reversed text; it must fit.
func (d *desk) screen() string {
	d.t.Helper()
	s := d.View().Content
	for _, mark := range []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[7m"} {
		s = strings.ReplaceAll(s, mark, "")
	}
	lines := strings.Split(s, "\n")
	if len(lines) > d.height {
		d.t.Errorf("%d lines on %d", len(lines), d.height)
	}
	for _, line := range lines {
		if render.Cell(line, d.width) != line && line != "" {
			d.t.Errorf("not %d columns, or not harmless: %q", d.width, line)
		}
	}
	return s
}

func (d *desk) shows(texts ...string) {
	d.t.Helper()
	s := d.screen()
	for _, text := range texts {
		if !strings.Contains(s, text) {
			d.t.Errorf("%q is not on the screen:\n%s", text, s)
		}
	}
}

// TestPagesInEverySize draws each page in terminals of many sizes: nothing wider or higher than these, and
// no character that a terminal would act upon.
func TestPagesInEverySize(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 50}, {40, 10}, {20, 4}, {1, 1}, {300, 5}} {
		d := newDesk(t, false, "")
		d.Update(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		for _, keys := range [][]string{{"1"}, {"2"}, {"3"}, {"enter"}, {"enter"}, {"?"}, {"esc"}, {"1", "/", "x"}} {
			d.press(keys...)
			d.screen()
		}
	}
	d := newDesk(t, false, "")
	d.shows("[1 queues]", "‖ mail", "200", "10.0", "5.0", `évil\x1b]0;x\x07`, "1234k", "▁▅█", "prod", "? keys")
	d.press("2")
	d.shows("[2 leases]", "td_"+strings.Repeat("a", 36), "w@host", "58s", "1/5")
	d.press("3")
	d.shows("[3 dead letters]", "a41f", "timeout after 30 s", `no\nhost \u202e`)
	d.press("tab")
	d.shows("[1 queues]")
}

// TestMoveOpenAndBack goes down into a todo and back up.
func TestMoveOpenAndBack(t *testing.T) {
	d := newDesk(t, false, "")
	d.press("down", "enter")
	d.shows("queue mail", "td_1", `no \x1b[31mhost\u202e`)
	d.press("enter")
	d.shows(`bell\x07`, `"n": 1.10`)
	d.press("esc")
	d.shows("queue mail")
	d.press("esc")
	d.shows("[1 queues]")
	d.press("end", "down", "down", "enter")
	d.press("esc", "home", "up", "enter", "esc")
	d.press("3", "down", "enter", "esc")
	d.shows("[3 dead letters]")
	if got := strings.Join(d.asked, ";"); got != `todos [mail] [];todo td_1;todos [évil`+"\x1b]0;x\a"+`] [];todos [billing] [];todos [] [b52a]` {
		t.Errorf("asked %q", got)
	}
}

// TestFilter narrows the rows to those with a text.
func TestFilter(t *testing.T) {
	d := newDesk(t, false, "")
	d.press("/", "M", "a", "x", "backspace", "enter")
	d.shows(`1 rows with "Ma"`, "‖ mail")
	if strings.Contains(d.screen(), "billing") {
		t.Error("billing is still there")
	}
	d.press("enter")
	d.press("esc", "esc")
	d.shows("billing")
	d.press("/", "q")
	d.shows("/q_")
	d.press("esc")
	d.shows("billing", "? keys")
}

// TestRetryAsks retries a group on yes and on nothing else; where a phrase is wanted, on that alone.
func TestRetryAsks(t *testing.T) {
	d := newDesk(t, false, "")
	d.press("r") // not on this page
	d.press("3", "r")
	d.shows("retry 7 dead letters of a41f? [y/N]")
	d.press("n")
	d.shows("nothing was changed")
	d.press("r", "enter")
	d.press("r", "esc")
	if len(d.asked) > 0 {
		t.Fatalf("asked %v", d.asked)
	}
	d.press("r", "y")
	d.shows("retried 7 of 7")
	if strings.Join(d.asked, ";") != "retry a41f 7" {
		t.Errorf("asked %v", d.asked)
	}
	p := newDesk(t, false, "prod")
	p.press("3", "r", "y")
	p.shows("production: type prod to retry 7 of a41f:")
	p.press("enter")
	p.press("r", "p", "r", "o", "x", "backspace", "d", "enter")
	if strings.Join(p.asked, ";") != "retry a41f 7" {
		t.Errorf("asked %v", p.asked)
	}
}

// TestFaultsAreShown keeps the last picture while the database is away, and says so until it is back.
func TestFaultsAreShown(t *testing.T) {
	d := newDesk(t, false, "")
	d.Update(d.look()())
	d.shows("away", "‖ mail")
	d.press("down")
	d.shows("away")
	d.Update(pictureMsg{picture: d.picture})
	if strings.Contains(d.screen(), "away") {
		t.Error("still said")
	}
}

// TestColor paints words only where color is wanted; the words are there without.
func TestColor(t *testing.T) {
	for _, color := range []bool{true, false} {
		d := newDesk(t, color, "")
		d.press("3", "enter")
		d.todos = append(d.todos, d.todos[0])
		if has := strings.Contains(d.View().Content, "\x1b[31m dead"); has != color {
			t.Errorf("color %v: painted %v", color, has)
		}
	}
}

// TestQuit ends on q and Ctrl-C alone.
func TestQuit(t *testing.T) {
	for _, k := range []tea.KeyPressMsg{{Code: 'q', Text: "q"}, {Code: 'c', Mod: tea.ModCtrl}} {
		d := newDesk(t, false, "")
		_, cmd := d.Update(k)
		if cmd == nil {
			t.Fatalf("%s did nothing", k)
		}
		if _, ok := cmd().(tea.QuitMsg); !ok {
			t.Errorf("%s did not quit", k)
		}
	}
}
