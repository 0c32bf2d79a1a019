package cmd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// bulk is the answer to enqueue --from with -o json.
type bulk struct{ Created, Duplicates, Invalid int }

// caseLines returns the input of a case as it lies on disk, byte for byte.
func caseLines(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "cases", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// file writes a file into the directory that the commands run in and returns its name.
func (c *cli) file(name, content string) string {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return name
}

// from enqueues lines into queue q and requires this exit status.
func (c *cli) from(code int, lines string, more ...string) outcome {
	c.t.Helper()
	r := c.pipe(lines, append([]string{"enqueue", "-q", "q", "--from", "-", "-o", "json"}, more...)...)
	if r.code != code {
		c.t.Fatalf("enqueue --from - %q: exit %d, want %d\n%s%s", more, r.code, code, r.out, r.err)
	}
	return r
}

// holds requires that text contains each of the words, and that it names no bare SQLSTATE.
func holds(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in %s", w, text)
		}
	}
	for _, code := range []string{"22P05", "22P02", "22021", "54001", "54000", "23505", "SQLSTATE"} {
		if strings.Contains(text, code) {
			t.Errorf("%s shows in %s", code, text)
		}
	}
}

// payloads returns the payloads in the order of the input.
func payloads(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	return pgValue[[]string](t, conn, "SELECT coalesce(array_agg(payload::text ORDER BY id), '{}') FROM todos")
}

func wantPayloads(t *testing.T, conn *pgx.Conn, want ...string) {
	t.Helper()
	if got := payloads(t, conn); !slices.Equal(got, want) {
		t.Errorf("payloads %q, want %q", got, want)
	}
}

func TestC001NulEscape(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	lines := caseLines(t, "C001-nul.ndjson")
	holds(t, c.from(6, lines).err, "line 2: ", "line 4: ", `\\u0000, which PostgreSQL's jsonb cannot hold`)
	wantPayloads(t, conn)
	r := c.from(7, lines, "--skip-invalid", "--rejects", "bad")
	if got := decode[bulk](t, r.out); got != (bulk{Created: 2, Invalid: 2}) {
		t.Errorf("%+v", got)
	}
	holds(t, r.err, "line 2: ", "line 4: ", "jsonb")
	wantPayloads(t, conn, `{"n": 1}`, `{"n": 3}`)
	kept, err := os.ReadFile(filepath.Join(c.dir, "bad"))
	if all := strings.SplitAfter(lines, "\n"); err != nil || string(kept) != all[1]+all[3] {
		t.Errorf("rejects: %q %v", kept, err)
	}
	holds(t, c.fails(6, "enqueue", "-q", "q", `{"a":"\u0000"}`).err, "payload", "jsonb")
	wantPayloads(t, conn, `{"n": 1}`, `{"n": 3}`)
}

func TestC003UnpairedSurrogates(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	lines := caseLines(t, "C003-surrogate.ndjson")
	r := c.from(6, lines)
	holds(t, r.err, "line 2: unpaired surrogate", "line 3: unpaired surrogate", "line 4: unpaired surrogate")
	if strings.Contains(r.err, "line 1:") || strings.Contains(r.err, "line 5:") {
		t.Error(r.err)
	}
	wantPayloads(t, conn)
	c.from(7, lines, "--skip-invalid")
	wantPayloads(t, conn, `{"ok": 1}`, `{"s": "😀"}`)
	c.fails(6, "enqueue", "-q", "q", "--payload", `{"s":"\ud800"}`)
	wantPayloads(t, conn, `{"ok": 1}`, `{"s": "😀"}`)
}

// The case's run is our work, which comes later; here a shell worker takes the payload by -o env.
func TestC005DigitsSurvive(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	lines := caseLines(t, "C005-bigint.ndjson")
	digits := []string{"9007199254740993", "18446744073709551615", "12345678901234567890123", "1.10", "0.1000000000000000055511151231257827"}
	c.from(0, lines)
	id := c.ok("list", "-q", "q", "-o", "id")
	for _, args := range [][]string{
		{"list", "-q", "q", "-o", "json"}, {"list", "-q", "q", "-o", "jsonl"}, {"list", "-q", "q", "-o", "csv"},
		{"show", id, "-o", "json"}, {"show", id, "-o", "table"}, {"show", id, "--jq", ".payload"}, {"list", "--jq", ".[].payload[]"},
		{"list", "--payload", `{"id":9007199254740993,"amount":1.10}`, "-o", "json"}, {"claim", id, "-o", "env"},
	} {
		holds(t, c.ok(args...), digits...)
	}
	if got := c.ok("list", "--payload", `{"id":9007199254740992}`, "-o", "json"); got != "[]" {
		t.Errorf("a neighbour was found: %s", got)
	}
	c.ok("complete", id, "--result", strings.TrimSpace(lines))
	holds(t, c.ok("show", id, "--jq", ".result"), digits...)
}

// jsonb keeps the last of two equal keys of a payload, at every entry point; in our own envelope two are refused.
func TestC007DuplicateKeys(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	lines := caseLines(t, "C007-dupkeys.ndjson")
	holds(t, c.from(6, lines).err, `line 1: field \"queue\" is there twice`)
	wantPayloads(t, conn)
	holds(t, c.from(6, `{"payload":1,"\u0070ayload":2}`).err, `field \"payload\" is there twice`)
	twice := `{"role":"viewer","role":"admin"}`
	c.from(7, lines, "--skip-invalid")
	c.ok("enqueue", "-q", "q", twice)
	c.ok("enqueue", "-q", "q", "--payload", "@"+c.file("p.json", twice))
	if r := c.pipe(twice, "enqueue", "-q", "q", "--payload", "-"); r.code != 0 {
		t.Fatal(r)
	}
	want := `{"role": "admin"}`
	wantPayloads(t, conn, want, want, want, want)
}

func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

func TestC008DeepNesting(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	var lines strings.Builder
	for _, depth := range []int{500, 9000, 10001, 20000} {
		fmt.Fprintf(&lines, "{\"payload\":%s}\n", nested(depth))
	}
	holds(t, c.from(6, lines.String()).err, "line 2: nested more than 1000 levels", "line 3: nested", "line 4: nested")
	wantPayloads(t, conn)
	c.from(7, lines.String(), "--skip-invalid")
	wantPayloads(t, conn, nested(500))
	// The limit is that of the payload, wherever it comes from.
	for depth, code := range map[int]int{1000: 0, 1001: 6} {
		c.from(code, `{"payload":`+nested(depth)+`}`)
		c.from(code, `{"key":"k`+fmt.Sprint(depth)+`","event":`+nested(depth)+`}`)
		c.fails(code, "enqueue", "-q", "q", nested(depth))
		c.fails(code, "enqueue", "-q", "q", "--event", nested(depth))
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos"); n != 5 {
		t.Errorf("%d todos", n)
	}
	c.ok("enqueue", "-q", "text", `"`+strings.Repeat("[", 5000)+`"`) // brackets in a string are text
}

func TestC009LongLines(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	line := func(size int) string {
		const head, tail = `{"payload":{"blob":"`, `"}}`
		return head + strings.Repeat("x", size-len(head)-len(tail)) + tail + "\n"
	}
	last := "{\"payload\":{\"last\":true}}\n"
	var lines strings.Builder
	for _, size := range []int{65535, 65536, 70000, 1100000, 9000000} {
		lines.WriteString(line(size))
	}
	if got := decode[bulk](t, c.from(0, lines.String()+last).out); got != (bulk{Created: 6}) {
		t.Errorf("%+v", got)
	}
	const limit = 16 << 20
	c.from(0, line(limit)+last)
	r := c.from(6, last+line(limit+1)+last+"oops\n"+last)
	holds(t, r.err, "line 2: longer than 16 MiB", "line 4: ")
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos"); n != 8 {
		t.Errorf("%d todos", n)
	}
	// What is skipped is kept, and what comes after it is not lost.
	c.from(7, line(limit+1)+last, "--skip-invalid", "--rejects", "bad")
	if kept, err := os.ReadFile(filepath.Join(c.dir, "bad")); err != nil || string(kept) != line(limit+1) {
		t.Errorf("rejects: %d bytes, %v", len(kept), err)
	}
	if n := pgValue[int](t, conn, `SELECT count(*) FROM todos WHERE payload ? 'last'`); n != 3 {
		t.Errorf("%d last lines", n)
	}
}
