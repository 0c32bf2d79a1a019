package render_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

func TestErrors(t *testing.T) {
	conflict := todo.Errorf(todo.CodeConflict, "held by %s", "w2\x1b[1m\u202e").WithHint("line one\nline two").With("attempt", 2).With("code", "x")
	for _, c := range []struct {
		err        error
		text, json string
	}{
		{conflict, "todoctl: held by w2\\x1b[1m\\u202e\nhint: line one; line two\n",
			`{"error":{"attempt":2,"code":"conflict","hint":"line one\nline two","message":"held by w2\u001b[1m\u202e"}}` + "\n"},
		{fmt.Errorf("wrapped: %w", conflict), "todoctl: held by w2\\x1b[1m\\u202e\nhint: line one; line two\n", ""},
		{errors.New("boom <&>\r\nsecond"), "todoctl: boom <&>; second\n", `{"error":{"code":"internal","hint":null,"message":"boom <&>\r\nsecond"}}` + "\n"},
		{todo.ErrEmpty, "todoctl: empty\n", `{"error":{"code":"empty","hint":null,"message":"empty"}}` + "\n"},
		{todo.Errorf(todo.CodeUsage, "x").With("bad", func() {}), "todoctl: x\n", ""},
	} {
		var text, json bytes.Buffer
		render.Error(&text, c.err, false, true)
		if text.String() != c.text {
			t.Errorf("got %q, want %q", text.String(), c.text)
		}
		render.Error(&json, c.err, true, true)
		if c.json != "" && json.String() != c.json {
			t.Errorf("got %s, want %s", json.String(), c.json)
		}
		if bytes.Count(json.Bytes(), []byte("\n")) != 1 || !bytes.HasPrefix(json.Bytes(), []byte(`{"error":{`)) {
			t.Errorf("not one line: %q", json.String())
		}
	}
}

func TestNotesAndWarnings(t *testing.T) {
	var b bytes.Buffer
	render.Note(&b, "3 more\x07", false)
	render.Warning(&b, "mode 0644\nchmod", false)
	render.Note(&b, "3 more\u202e", true)
	render.Warning(&b, "a \"b\"", true)
	want := "note: 3 more\\x07\nwarning: mode 0644; chmod\n" + `{"note":"3 more\u202e"}` + "\n" + `{"warning":"a \"b\""}` + "\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}
