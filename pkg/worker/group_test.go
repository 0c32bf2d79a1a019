//go:build unix

package worker

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/todo"
)

// A todo that cannot be written as JSON fails by itself: those beside it are given to the command, and nobody waits for its answer.
func TestUnwritableTodo(t *testing.T) {
	t.Parallel()
	w := &Worker{finished: outbox{filled: make(chan struct{}, 1)}, wake: make(chan struct{}, 1)}
	stdin, err := os.Create(filepath.Join(t.TempDir(), "stdin"))
	if err != nil {
		t.Fatal(err)
	}
	g := &group{w: w, c: &child{stdin: stdin}, lines: make(chan *held, 3), deaf: make(chan struct{})}
	for _, payload := range []string{"1", "{", "3"} {
		if !g.add(&held{todo: &todo.Todo{ID: "td_" + payload, Payload: json.RawMessage(payload)}, lost: make(chan struct{})}) {
			t.Fatal("not taken")
		}
	}
	g.finish()
	g.feed()
	got, err := os.ReadFile(stdin.Name())
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(string(got), "\n"); len(lines) != 3 || !strings.Contains(lines[0], `"td_1"`) || !strings.Contains(lines[1], `"td_3"`) {
		t.Errorf("the command gets %s", got)
	}
	if got := w.finished.take(9); len(got) != 1 || got[0].held.todo.ID != "td_{" || got[0].action != Fail || !strings.Contains(got[0].text, "cannot be written as JSON") {
		t.Errorf("settled: %+v", got)
	}
	if g.size() != 2 || w.inflight.Load() != 2 {
		t.Errorf("%d are open, %d in flight", g.size(), w.inflight.Load())
	}
}
