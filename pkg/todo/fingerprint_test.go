package todo

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// variety makes the parts of errors that differ from one failure to the next.
type variety struct{ *rand.Rand }

func (v variety) of(letters string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[v.IntN(len(letters))]
	}
	return string(b)
}

func (v variety) hex(n int) string { return v.of("0123456789abcdef", n) }
func (v variety) word() string     { return v.of("abcdefghijklmnopqrstuvwxyz", 1+v.IntN(9)) }
func (v variety) uuid() string {
	return fmt.Sprintf("%s-%s-7%s-8%s-%s", v.hex(8), v.hex(4), v.hex(3), v.hex(3), v.hex(12))
}

func (v variety) time(layout string) string {
	return time.Unix(v.Int64N(2e9), v.Int64N(1e9)).In(time.FixedZone("", (v.IntN(24)-12)*3600)).Format(layout)
}

// Errors that differ in numbers, uuids, hex, quoted text, addresses, paths and times alone are one, however these look.
func TestOneFingerprintForEachTemplate(t *testing.T) {
	v := variety{rand.New(rand.NewPCG(1, 2))}
	print := fmt.Sprintf
	templates := map[string]func() string{
		"uuid": func() string { return "job " + v.uuid() + " failed" }, "id": func() string { return print("todo td_%s@%d is lost", v.uuid(), v.IntN(9)) },
		"sha": func() string { return "commit " + v.hex(40) + " not found" }, "short hash": func() string { return "container " + v.hex(12) + " exited" },
		"address of memory": func() string { return print("object at %#x is gone", v.Uint64()) }, "made-up name": func() string { return "request req_" + v.hex(10) + " failed" },
		"quoted": func() string { return `unknown user "` + v.word() + `'s" here` }, "escaped": func() string { return `bad value "x\"` + v.word() + `" in row` },
		"single": func() string { return `key 'a` + v.word() + `' exists` }, "mail": func() string { return "550 mailbox <" + v.word() + "@example.test> unavailable" },
		"path": func() string { return print("open /var/%s/%s.txt: no such file", v.word(), v.word()) }, "short path": func() string { return "open /" + v.word() + ": no such file" },
		"relative": func() string { return print("open %s/%s.go: no such file", v.word(), v.word()) }, "dotted": func() string { return print("open ../%s/%s: no such file", v.word(), v.word()) },
		"windows": func() string { return `open C:\Users\` + v.word() + `\x.txt: denied` }, "url": func() string {
			return print("GET https://api.example.test/v1/%s/%d?q=%s: 503", v.word(), v.IntN(99), v.word())
		},
		"ip": func() string {
			return print("dial tcp 192.0.%d.%d:%d: refused", v.IntN(256), v.IntN(256), v.IntN(65536))
		},
		"low port": func() string { return print("dial tcp 10.0.0.%d:%d: refused", v.IntN(256), v.IntN(200)) },
		"host":     func() string { return print("dial tcp db-%d:%d: refused", v.IntN(100), v.IntN(200)) },
		"column":   func() string { return print("main.go:%d:%d: syntax error", v.IntN(200), v.IntN(200)) },
		"ip6": func() string {
			return print("dial tcp [2001:db8::%x:%x]:%d: refused", v.IntN(65536), v.IntN(65536), v.IntN(65536))
		},
		"rfc 3339": func() string { return "expired at " + v.time(time.RFC3339Nano) + " already" }, "spaced": func() string { return "expired at " + v.time("2006-01-02 15:04:05,000") + " already" },
		"rfc 1123": func() string { return "expired at " + v.time(time.RFC1123Z) + " already" }, "stamp": func() string { return "expired at " + v.time(time.Stamp) + " already" },
		"slashes": func() string { return "expired at " + v.time("2006/01/02 15:04:05") + " already" }, "clock": func() string { return "expired at " + v.time("15:04:05") + " already" },
		"duration": func() string { return print("timeout after %s", time.Duration(v.Int64N(1e13))) }, "sign": func() string { return print("balance %d too low", v.IntN(200)-100) },
		"float": func() string { return print("ratio %g too small", v.NormFloat64()/1e6) }, "line": func() string { return print("main.go:%d: panic", v.IntN(1000)) },
		"more lines": func() string { return "boom\n" + v.word() }, "spaces": func() string { return "boom" + v.of(" \t", 1+v.IntN(5)) + "again" },
	}
	for _, name := range slices.Sorted(maps.Keys(templates)) { // in one order, so that each gets the same numbers every time
		f := templates[name]
		first := f()
		for range 500 {
			if next := f(); Fingerprint(next) != Fingerprint(first) {
				t.Errorf("%s: %q is not like %q: %q and %q", name, next, first, Template(next), Template(first))
				break
			}
		}
	}
}

// What tells one error from another stays in it.
func TestDifferentErrorsStayApart(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{
		"connection refused", "connection reset", "GET https://a.example.test/x: 503", "GET https://b.example.test/x: 503", "encoding utf8 is unknown",
		"encoding latin1 is unknown", "no such file", "no such host", "db is down", "read: EOF", "write: EOF", "a facade", "a decade", "deadline exceeded", "",
	} {
		if other, found := seen[Fingerprint(text)]; found {
			t.Errorf("%q is taken for %q", text, other)
		}
		seen[Fingerprint(text)] = text
	}
}
