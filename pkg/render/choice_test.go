package render_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

func TestFormOfChoice(t *testing.T) {
	v := sample(1, "hello")
	tsv := v.ID + "\tmail\tclaimed\t2\t2026-12-01T09:00:00Z\thello\n"
	if got := show(t, one(), render.Options{}, v); got != tsv {
		t.Errorf("off a terminal: %q", got)
	}
	if got := show(t, one(), render.Options{TTY: true, Source: "default"}, v); !strings.HasPrefix(got, "id         td_") {
		t.Errorf("on a terminal: %q", got)
	}
	if got := show(t, one(), render.Options{TTY: true, JQ: ".title"}, v); got != "hello\n" {
		t.Errorf("jq implies JSON: %q", got)
	}
	if got := show(t, one(), render.Options{Format: render.CSV, Source: "TODOCTL_OUTPUT", JQ: ".title"}, v); got != "hello\n" {
		t.Errorf("jq beats a form that was not said in this call: %q", got)
	}
	plain := render.Shape{Fields: []string{"name", "id", "size", "payload"}}
	if got := show(t, plain, render.Options{}, map[string]any{"name": "n", "id": "i", "size": 3, "payload": 1}); got != "i\tn\t3\n" {
		t.Errorf("the id comes first and the payload is no column: %q", got)
	}
	named := render.Shape{ID: "queue", Table: []string{"queue:NAME", "pending"}}
	if got := show(t, named, render.Options{Format: render.ID}, map[string]any{"queue": "q"}); got != "q\n" {
		t.Errorf("the id of a queue: %q", got)
	}
}

func TestFields(t *testing.T) {
	v := sample(1, "hello")
	o := render.Options{Fields: []string{"title", " payload", "id"}}
	for form, want := range map[string]string{
		render.JSON:  `{"title":"hello","payload":{"n":9007199254740993,"d":1.10,"s":"<&>"},"id":"` + v.ID + `"}` + "\n",
		render.JSONL: `{"title":"hello","payload":{"n":9007199254740993,"d":1.10,"s":"<&>"},"id":"` + v.ID + `"}` + "\n",
		render.TSV:   "hello\t" + `{"n":9007199254740993,"d":1.10,"s":"<&>"}` + "\t" + v.ID + "\n",
		render.CSV:   "title,payload,id\n" + `hello,"{""n"":9007199254740993,""d"":1.10,""s"":""<&>""}",` + v.ID + "\n",
	} {
		o.Format = form
		if got := show(t, one(), o, v); got != want {
			t.Errorf("%s: got %s, want %s", form, got, want)
		}
	}
	// A field that a row lacks is null, so that the shape does not follow from the data.
	if got := show(t, render.Shape{Fields: []string{"a", "b"}}, render.Options{Format: render.JSON, Fields: []string{"b", "a"}}, map[string]any{"a": 1}); got != `{"b":null,"a":1}`+"\n" {
		t.Errorf("got %s", got)
	}
	if got := show(t, one(), render.Options{JQ: ".", Fields: []string{"queue"}}, v); got != `{"queue":"mail"}`+"\n" {
		t.Errorf("jq sees the fields that were asked for: %s", got)
	}
	s := one()
	s.Payload = true
	if got := show(t, s, render.Options{Format: render.Table, Fields: []string{"id", "payload"}}, v); !strings.Contains(got, "payload\n  {\n    \"n\": 9007199254740993,") {
		t.Errorf("a sheet that may show the payload: %s", got)
	}
}

func TestRefusedChoices(t *testing.T) {
	stats := render.Shape{Fields: []string{"op", "matched"}}
	for _, c := range []struct {
		shape render.Shape
		o     render.Options
		words []string
	}{
		{list(), render.Options{Format: "tabel"}, []string{`unknown output form "tabel"`, "did you mean table?", "jsonl", "env"}},
		{list(), render.Options{Format: "xml", Source: "TODOCTL_OUTPUT"}, []string{"TODOCTL_OUTPUT: ", "xml"}},
		{list(), render.Options{Fields: []string{"id", "titel"}}, []string{`unknown field "titel"`, "did you mean title?", "fields: id, receipt"}},
		{list(), render.Options{Fields: []string{"id", ""}}, []string{"empty name"}},
		{list(), render.Options{Fields: []string{" "}}, []string{"empty name"}},
		{list(), render.Options{Fields: []string{}}, []string{"--fields is empty", "fields: id"}},
		{list(), render.Options{Source: "--output"}, []string{"--output is set but empty", "jsonl"}},
		{list(), render.Options{Fields: []string{"id", "queue", "id"}}, []string{"names id twice"}},
		{list(), render.Options{Format: render.Table, Fields: []string{"payload"}}, []string{"payload is not shown in tables", "json"}},
		{list(), render.Options{TTY: true, Fields: []string{"result"}}, []string{"result is not shown in tables"}},
		{list(), render.Options{Format: render.ID, Fields: []string{"queue"}}, []string{"--fields", "-o id"}},
		{one(), render.Options{Format: render.EnvForm, Fields: []string{"queue"}}, []string{"--fields", "-o env"}},
		{list(), render.Options{Format: render.EnvForm}, []string{"one todo", "list", "--limit"}},
		{stats, render.Options{Format: render.EnvForm}, []string{"something else"}},
		{stats, render.Options{Format: render.ID}, []string{"no id"}},
		{stats, render.Options{Format: render.Receipt, Source: "config file c, key output"}, []string{"config file c, key output: ", "no receipt"}},
		{list(), render.Options{JQ: ".[", Format: render.JSON}, []string{"--jq: "}},
		{list(), render.Options{JQ: ".x | nosuch"}, []string{"--jq: ", "nosuch"}},
		{list(), render.Options{JQ: ".", Format: render.CSV}, []string{"--jq", "csv"}},
		{list(), render.Options{JQ: ".", Format: render.Table, Source: "--output"}, []string{"--jq", "table"}},
	} {
		refused(t, c.shape, c.o, c.words...)
	}
}

func TestJQ(t *testing.T) {
	a, b := sample(1, "one\ntwo"), sample(2, "x")
	for _, c := range []struct {
		shape render.Shape
		o     render.Options
		want  string
	}{
		{list(), render.Options{JQ: ".[].queue"}, "mail\nmail\n"},
		{list(), render.Options{JQ: "map(.attempt)"}, "[2,2]\n"},
		{list(), render.Options{JQ: ".[0].title"}, "one\ntwo\n"},
		{list(), render.Options{JQ: ".[0].title", TTY: true}, `one\ntwo` + "\n"},
		{list(), render.Options{JQ: ".[1].payload.n, .[1].payload.d"}, "9007199254740993\n1.10\n"},
		{list(), render.Options{JQ: ".queue", Format: render.JSONL}, "mail\nmail\n"},
		{list(), render.Options{JQ: "empty"}, ""},
		{list(), render.Options{JQ: ".[0].owner, .[0].error, halt, 1"}, "w1@host\nnull\n"},
		{list(), render.Options{JQ: "env | length, ($ENV | length)"}, "0\n0\n"}, // nothing of the process leaks
		{list(), render.Options{JQ: `"<&>", ["<&>"]`}, "<&>\n[\"<&>\"]\n"},
	} {
		if got := show(t, c.shape, c.o, a, b); got != c.want {
			t.Errorf("%s: got %q, want %q", c.o.JQ, got, c.want)
		}
	}
	w, err := render.New(&bytes.Buffer{}, list(), render.Options{JQ: ".[].queue.x"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Row(a); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); todo.CodeOf(err) != todo.CodeUsage || !strings.Contains(err.Error(), "--jq: ") {
		t.Errorf("a filter that does not fit: %v", err)
	}
}

func TestFieldsOf(t *testing.T) {
	type base struct {
		A int `json:"a"`
	}
	type row struct {
		*base
		B int `json:"b,omitempty"`
		C int `json:"-"`
		D int
		e int
	}
	if got, want := render.FieldsOf([]*row{}), []string{"a", "b", "D"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q, of %+v", got, want, row{e: 1})
	}
	all := render.FieldsOf(todo.Todo{})
	if all[0] != "id" || !slices.Contains(all, "lease_expires_at") {
		t.Errorf("fields of a todo: %q", all)
	}
}
