package render

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Redacted stands where a value was taken out.
const Redacted = `"[redacted]"`

// Redact returns JSON with the values of the named keys, in upper or lower case, taken out at any depth. All else keeps its
// digits and its order. What is not JSON comes back as it is.
func Redact(raw json.RawMessage, keys []string) json.RawMessage {
	if len(keys) == 0 || len(raw) == 0 {
		return raw
	}
	var out bytes.Buffer
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if redactValue(dec, &out, keys) != nil {
		return raw
	}
	return out.Bytes()
}

func redactValue(dec *json.Decoder, out *bytes.Buffer, keys []string) error {
	t, err := dec.Token()
	if err != nil {
		return err
	}
	open, nested := t.(json.Delim)
	if !nested {
		return put(out, t)
	}
	out.WriteByte(byte(open))
	for first := true; dec.More(); first = false {
		if !first {
			out.WriteByte(',')
		}
		into := out
		if open == '{' {
			name, err := dec.Token()
			if err != nil {
				return err
			}
			if err := put(out, name); err != nil {
				return err
			}
			out.WriteByte(':')
			if key, ok := name.(string); ok && slices.ContainsFunc(keys, func(k string) bool { return strings.EqualFold(k, key) }) {
				out.WriteString(Redacted)
				into = &bytes.Buffer{}
			}
		}
		if err := redactValue(dec, into, keys); err != nil {
			return err
		}
	}
	end, err := dec.Token()
	if close, ok := end.(json.Delim); ok {
		out.WriteByte(byte(close))
	}
	return err
}

// put writes a name, a string, a number or a word.
func put(out *bytes.Buffer, t json.Token) error {
	if n, ok := t.(json.Number); ok {
		out.WriteString(n.String())
		return nil
	}
	b, err := encode(t)
	out.Write(b)
	return err
}
