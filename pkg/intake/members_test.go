package intake

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// FuzzObject compares the cutting of members with what encoding/json makes of the same object.
func FuzzObject(f *testing.F) {
	for _, seed := range []string{`{}`, ` { "queue" : "q" , "payload" : {"a":[1,{"b":"}"}],"c":"\\\""} } `, `{"payload":1e5,"title":"x\"y"}`,
		`{"payload":null}`, `{"payload":[[],{}],"queue":"a"}`, `{"qu\u0065ue":"q","payload":true}`, `{"payload":-1.0 }`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 || raw[0] != '{' || check(raw, MaxDepth) != nil {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatalf("checked, but %v: %q", err, raw)
		}
		got, err := object(raw)
		if err != nil {
			return // a name that is not ours, or twice the same
		}
		if len(got) != len(want) {
			t.Fatalf("%d members, want %d: %q", len(got), len(want), raw)
		}
		for name, value := range want {
			if !bytes.Equal(got[name], bytes.TrimSpace(value)) {
				t.Fatalf("%s is %q, want %q", name, got[name], value)
			}
		}
	})
}

// BenchmarkReader is the client's own share of a bulk enqueue.
func BenchmarkReader(b *testing.B) {
	line := `{"key":"k123456","kind":"x","title":"hello 42","payload":{"n":42,"s":"` + strings.Repeat("abcdefghij", 6) + `"}}` + "\n"
	b.SetBytes(int64(len(line)))
	opt := Options{Expect: -1}
	opt.Defaults.Queue, opt.Defaults.MaxAttempts, opt.Defaults.Payload = "q", 5, "null"
	r := NewReader(strings.NewReader(strings.Repeat(line, b.N)), opt)
	b.ResetTimer()
	for range b.N {
		if _, err := r.Next(); err != nil {
			b.Fatal(err)
		}
	}
}
