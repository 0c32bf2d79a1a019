package cmd_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todoctl/todoctl/cmd"
)

// The cases of class PAYLOAD about how an input is cut into lines and values; see cases_payload_test.go.

// A mark at the head of a later line (files joined by cat) is dropped as well.
func TestC010ByteOrderMark(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.from(0, caseLines(t, "C010-bom.ndjson"))
	wantPayloads(t, conn, `{"n": 1}`, `{"n": 2}`, `{"n": 3}`)
}

func TestC011LineEnds(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	lines := caseLines(t, "C011-crlf.ndjson")
	c.from(0, lines)
	wantPayloads(t, conn, `{"n": 1}`, `{"n": 2}`, `{"n": 3}`, `{"n": 4}`)
	holds(t, c.from(6, lines+"\r\n\r\n{\"key\":7}\r\n").err, "line 9: key: ") // blank lines count
	c.from(0, "{\"key\":\"k\"}\r\n")
	if key := pgValue[string](t, conn, "SELECT idempotency_key FROM todos WHERE idempotency_key IS NOT NULL"); key != "k" {
		t.Errorf("key %q", key)
	}
}

// A fault in a flag's own text is usage by the contract; in a line of input, and in any payload, it is data.
func TestC013NotUTF8(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	r := c.from(6, caseLines(t, "C013-latin1.ndjson"))
	holds(t, r.err, "line 1: not valid UTF-8 at byte 24", "line 2: not valid UTF-8 at byte 11", "line 3: not valid UTF-8 at byte 18")
	const cafe = "caf\xe9"
	for _, flag := range []string{"--title", "--kind", "--source", "--key", "--assignee", "--queue"} {
		holds(t, c.fails(2, "enqueue", "-q", "q", flag, cafe).err, strings.TrimPrefix(flag, "--"))
	}
	holds(t, c.fails(6, "enqueue", "-q", "q", "--payload", `"`+cafe+`"`).err, "not valid UTF-8 at byte 5")
	holds(t, c.fails(6, "enqueue", "-q", "q", "--event", `"`+cafe+`"`).err, "not valid UTF-8 at byte 5")
	wantPayloads(t, conn)
}

// An absent payload is JSON null, by the contract.
func TestC014ScalarPayloads(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	lines := caseLines(t, "C014-scalars.ndjson")
	c.from(0, lines)
	wantPayloads(t, conn, `"x"`, `42`, `true`, `[1]`, `null`, `{}`, `null`)
	if got := c.ok("list", "-q", "q", "--jq", `.[].payload|tojson`); got != "\"x\"\n42\ntrue\n[1]\nnull\n{}\nnull" {
		t.Errorf("list: %s", got)
	}
	for i, want := range []string{`"x"`, "42", "true", "[1]", "null", "{}", "null"} {
		if got := c.ok("claim", "-q", "q", "--jq", ".payload|tojson"); got != want {
			t.Errorf("claim %d: %s, want %s", i, got, want)
		}
	}
	c.ok("enqueue", "-q", "r")
	if got := c.ok("list", "-q", "r", "--jq", `.[].payload|tojson`); got != "null" {
		t.Errorf("no payload at all: %s", got)
	}
}

// The case expects [] and a count on stderr; by the contract a bulk enqueue answers with one object of counts, jsonl with
// one line for each line, and notes go to a terminal alone.
func TestC015EmptyInput(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	if r := c.from(0, ""); r.out != `{"created":0,"duplicates":0,"invalid":0}`+"\n" || r.err != "" {
		t.Errorf("%q %q", r.out, r.err)
	}
	if r := c.pipe("", "enqueue", "-q", "q", "--from", "-", "-o", "jsonl"); r.code != 0 || r.out != "" || r.err != "" {
		t.Errorf("jsonl: %+v", r)
	}
	holds(t, c.from(6, "", "--expect", "1").err, "expected 1 todos, got 0")
	// On a terminal the command says what it waits for.
	var out, errs bytes.Buffer
	s := cmd.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, InTTY: true, ErrTTY: true}
	if code := cmd.Main([]string{"enqueue", "-q", "q", "--from", "-"}, s, c.env, cmd.VersionInfo{}); code != 0 {
		t.Errorf("exit %d", code)
	}
	holds(t, errs.String(), "reading from the terminal; end with Ctrl-D", "0 lines read")
}

// For a pretty-printed object the hint is jq -c ., for an array jq -c '.[]'.
func TestC017OneValueALine(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	r := c.from(6, caseLines(t, "C017-concat.ndjson"))
	holds(t, r.err, "line 1: ", "after top-level value", "line 2: ", "line 3: ", "line 4: ", "jq -c .")
	holds(t, c.from(6, `[{"payload":1}]`).err, "line 1: ", "jq -c '.[]'")
	holds(t, c.from(6, "[\n{\"payload\":1}\n]").err, "line 1: ", "jq -c '.[]'", "line 3: ")
	holds(t, c.fails(6, "enqueue", "-q", "q", `{"payload":1}{"payload":2}`).err, "after top-level value")
	wantPayloads(t, conn)
}

func TestC019NoHTMLEscapes(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	id := c.ok("enqueue", "-q", "q", "--title", "a&b", "--payload", `{"u":"https://x.test/?a=1&b=<2>"}`)
	for _, args := range [][]string{{"list", "-q", "q", "-o", "json"}, {"list", "-o", "jsonl"}, {"show", id, "-o", "json"}, {"show", id, "-o", "table"},
		{"show", id, "--jq", ".payload"}, {"list", "-o", "csv"}, {"claim", id, "-o", "json"}} {
		holds(t, c.ok(args...), "a=1&b=<2>")
	}
	holds(t, c.fails(4, "claim", id, "--owner", "b", "-o", "json", "--jq", ".title").err, id)
	holds(t, c.fails(2, "list", "--state", "a&b", "-o", "json").err, "a&b")
}

// TestRejectsKeepEveryBadLine has lines that only the server finds bad, beside those that are bad as they stand.
func TestRejectsKeepEveryBadLine(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	event := pgValue[string](t, conn, "INSERT INTO events (source) VALUES ('s') RETURNING id")
	lines := []string{`{"payload":1}`, "", `{"event_id":"ev_none",  "payload":1.10}`, "oops", `{"event_id":"` + event + `","payload":2}`,
		`{"event_id":"ev_nil"}`, `{"payload":3}`}
	input := strings.Join(lines, "\n") + "\n"
	holds(t, c.from(6, lines[2]+"\n"+lines[5]).err, "line 1: event_id: no event ev_none")
	r := c.from(7, input, "--skip-invalid", "--rejects", "bad")
	if got := decode[bulk](t, r.out); got != (bulk{Created: 3, Invalid: 3}) {
		t.Errorf("%+v", got)
	}
	holds(t, r.err, "line 3: event_id: no event ev_none", "line 4: ", "line 6: event_id: no event ev_nil")
	kept, err := os.ReadFile(filepath.Join(c.dir, "bad"))
	if want := "oops\n" + lines[2] + "\n" + lines[5] + "\n"; err != nil || string(kept) != want {
		t.Errorf("rejects: %q %v, want %q", kept, err, want)
	}
	wantPayloads(t, conn, "1", "2", "3")
	// The file that is read is not emptied to keep its own bad lines.
	c.file("in", input)
	holds(t, c.fails(2, "enqueue", "-q", "q", "--from", "in", "--skip-invalid", "--rejects", "./in").err, "is the file that is read")
	if now, err := os.ReadFile(filepath.Join(c.dir, "in")); err != nil || string(now) != input {
		t.Errorf("the input is now %q, %v", now, err)
	}
}
