package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/todoctl/todoctl/pkg/todo"
)

// record is one row as JSON: the whole object, and its members in the order they were written.
// Values are cut out of the encoded text, so that no number ever passes through a float.
type record struct {
	object []byte
	names  []string
	values []json.RawMessage
}

// newRecord encodes v, which must be encoded as an object.
func newRecord(v any) (record, error) {
	object, err := encode(v)
	if err != nil {
		return record{}, err
	}
	if len(object) == 0 || object[0] != '{' {
		return record{}, todo.Errorf(todo.CodeInternal, "a row of type %T is not an object", v)
	}
	r := record{object: object}
	r.names, r.values = members(object)
	return r, nil
}

// get returns the member called name, null where there is none.
func (r record) get(name string) json.RawMessage {
	for i, n := range r.names {
		if n == name {
			return r.values[i]
		}
	}
	return json.RawMessage("null")
}

// only returns the object with these members, in this order.
func (r record) only(fields []string) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := encode(f)
		b.Write(name)
		b.WriteByte(':')
		b.Write(r.get(f))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// encode is compact JSON without the escaping of <, > and & that encoding/json does for browsers.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(listsNotNull(v)); err != nil {
		return nil, todo.Errorf(todo.CodeInternal, "encode answer: %v", err)
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// listsNotNull replaces the nil slices and maps of a struct by empty ones: a script that iterates
// over a member must not meet null in its place.
func listsNotNull(v any) any {
	in := reflect.ValueOf(v)
	for in.Kind() == reflect.Pointer && !in.IsNil() {
		in = in.Elem()
	}
	if in.Kind() != reflect.Struct || in.Type().Implements(reflect.TypeFor[json.Marshaler]()) {
		return v
	}
	out := reflect.New(in.Type()).Elem()
	out.Set(in)
	for i := range out.NumField() {
		f := out.Field(i)
		switch {
		case !f.CanSet():
		case f.Kind() == reflect.Slice && f.IsNil() && f.Type().Elem().Kind() != reflect.Uint8:
			f.Set(reflect.MakeSlice(f.Type(), 0, 0))
		case f.Kind() == reflect.Map && f.IsNil():
			f.Set(reflect.MakeMap(f.Type()))
		case f.Kind() == reflect.Struct:
			f.Set(reflect.ValueOf(listsNotNull(f.Interface())))
		}
	}
	return out.Interface()
}

// members cuts a compact JSON object, as encoding/json writes it, into its names and values.
func members(object []byte) (names []string, values []json.RawMessage) {
	for i := 1; i < len(object) && object[i] == '"'; {
		end := stringEnd(object, i)
		name := string(object[i+1 : end-1])
		if strings.ContainsRune(name, '\\') {
			// It came out of the encoder, so that it can be read.
			_ = json.Unmarshal(object[i:end], &name)
		}
		start := end + 1
		i = valueEnd(object, start)
		names, values = append(names, name), append(values, json.RawMessage(object[start:i]))
		i++
	}
	return names, values
}

// stringEnd returns the index after the string literal that begins at i.
func stringEnd(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// valueEnd returns the index of the comma or brace after the value that begins at i.
func valueEnd(b []byte, i int) int {
	for depth := 0; ; {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
}

// valueText is a value as unquoted text: a string's contents, nothing for null, else its JSON.
func valueText(value json.RawMessage) string {
	switch {
	case len(value) == 0 || value[0] == 'n':
		return ""
	case value[0] == '"':
		var s string
		if json.Unmarshal(value, &s) == nil {
			return s
		}
	}
	return string(value)
}

// FieldsOf returns the json names of a struct's fields in print order, embedded structs included.
func FieldsOf(v any) []string {
	t := reflect.TypeOf(v)
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("render: FieldsOf(%T): not a struct", v))
	}
	var names []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		switch {
		case f.Anonymous && name == "" && embedded.Kind() == reflect.Struct:
			names = append(names, FieldsOf(reflect.Zero(embedded).Interface())...)
		case !f.IsExported() || name == "-":
		case name == "":
			names = append(names, f.Name)
		default:
			names = append(names, name)
		}
	}
	return names
}
