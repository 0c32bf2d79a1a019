package todo_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"testing/quick"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// TestAppendJSON prints todos with every field set or not, and with every sort of text, as encoding/json does.
func TestAppendJSON(t *testing.T) {
	check := func(seed uint64) bool {
		one := anyTodo(rand.New(rand.NewPCG(seed, 1)))
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		if err := e.Encode(one); err != nil {
			t.Fatal(err)
		}
		got, err := one.AppendJSON([]byte("before "))
		if err != nil {
			t.Fatal(err)
		}
		if string(got)+"\n" != "before "+want.String() {
			t.Errorf("seed %d\n got %s\nwant before %s", seed, got, want.String())
			return false
		}
		return true
	}
	if err := quick.Check(check, &quick.Config{MaxCount: 3000}); err != nil {
		t.Fatal(err)
	}
}

func TestAppendJSONRefusesWhatIsNone(t *testing.T) {
	for name, one := range map[string]todo.Todo{
		"payload": {Payload: json.RawMessage("{")},
		"result":  {Payload: json.RawMessage("1"), Result: ptr(json.RawMessage(`"a`))},
	} {
		if got, err := one.AppendJSON(nil); err == nil {
			t.Errorf("%s: printed %s", name, got)
		}
	}
}

func ptr[T any](v T) *T { return &v }

// anyTodo fills every field of a todo by its type, so that a new field is in the test as soon as it is in the struct.
func anyTodo(r *rand.Rand) *todo.Todo {
	var one todo.Todo
	v := reflect.ValueOf(&one).Elem()
	for i := range v.NumField() {
		field := v.Field(i)
		if r.IntN(4) == 0 {
			if _, ok := field.Interface().(json.RawMessage); !ok {
				continue
			}
		}
		switch field.Interface().(type) {
		case todo.Time:
			field.Set(reflect.ValueOf(anyTime(r)))
		case *string:
			field.Set(reflect.ValueOf(ptr(anyText(r))))
		case int:
			field.SetInt(r.Int64N(1 << 31))
		case *int:
			field.Set(reflect.ValueOf(ptr(r.IntN(101))))
		case json.RawMessage:
			field.SetBytes(anyJSON(r))
		case *json.RawMessage:
			field.Set(reflect.ValueOf(ptr(anyJSON(r))))
		case todo.State:
			field.SetString(string(todo.Failed))
		case todo.Condition:
			field.SetString(string(todo.IsRetrying))
		default:
			field.SetString(anyText(r))
		}
	}
	return &one
}

func anyTime(r *rand.Rand) (at todo.Time) {
	switch r.IntN(6) {
	case 0:
		_ = at.Scan("infinity")
	case 1:
		_ = at.Scan("-infinity")
	case 2:
		at = todo.At(time.Date(r.IntN(20000), 2, 3, 4, 5, 6, 0, time.UTC))
	default:
		at = todo.At(time.UnixMicro(r.Int64N(4e15)).In(time.FixedZone("", 3600)))
	}
	return at
}

func anyText(r *rand.Rand) string {
	return []string{"", "mail", "td_01900000-0000-7000-8000-000000000001", `say "hi"`, `c:\dir`, "tab\tline\nend\r\x00\x1f\x7f",
		"<b>&amp;</b>", "größe €", "\u2028\u2029", "bad \xff utf-8", "😀"}[r.IntN(11)]
}

func anyJSON(r *rand.Rand) json.RawMessage {
	return json.RawMessage([]string{"null", `{"a": 1.50, "b": [ "<x>", null ]}`, `"text\u2028"`, "1e400", ` {} `, `12345678901234567890.0`}[r.IntN(6)])
}
