package cmd_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

// enqueueCase enqueues a file of cases into the queue q and returns its lines.
func (c *cli) enqueueCase(name string, flags ...string) []string {
	c.t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "pkg", "render", "testdata", name))
	if err != nil {
		c.t.Fatal(err)
	}
	if r := c.pipe(string(b), append([]string{"enqueue", "-q", "q", "--from", "-"}, flags...)...); r.code != 0 {
		c.t.Fatalf("enqueue %s: exit %d: %s", name, r.code, r.err)
	}
	return strings.Split(strings.TrimRight(string(b), "\n"), "\n")
}

// cellsOf counts terminal cells by rules of its own, for text without joined emoji.
func cellsOf(line string) int {
	n := 0
	for _, r := range strings.TrimRight(line, "\n") {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case r >= 0x1100 && r <= 0x115F, r >= 0x2E80 && r <= 0xA4CF, r >= 0xAC00 && r <= 0xD7A3, r >= 0xF900 && r <= 0xFAFF,
			r >= 0xFF00 && r <= 0xFF60, r >= 0x1F300 && r <= 0x1FAFF:
			n += 2
		default:
			n++
		}
	}
	return n
}

func TestCaseC105PipedOutputHoldsNoControlCharacter(t *testing.T) {
	c := newCLI(t)
	lines := c.enqueueCase("C105-escapes.ndjson")
	for _, form := range []string{"table", "wide", "tsv", "json", "jsonl"} {
		out := c.ok("list", "-o", form)
		if i := strings.IndexFunc(out, func(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' || r == 0x7F && form[0] != 'j' }); i >= 0 {
			t.Errorf("list -o %s: %q", form, out)
		}
	}
	// JSON keeps the data.
	for i, got := range decode[[]struct{ Title string }](t, c.ok("list", "-o", "json")) {
		if want := decode[struct{ Title string }](t, lines[i]); got != want {
			t.Errorf("%q came back as %q", want.Title, got.Title)
		}
	}
	if r := c.fails(5, "show", "td_\x1b[31m\nsecond line"); strings.Count(r.err, "\n") > 2 || strings.Contains(r.err, "\x1b") {
		t.Errorf("an error that quotes: %q", r.err)
	}
}

func TestCaseC110ListPipedToHead(t *testing.T) {
	url := pgtest.Database(t)
	c := newCLIOn(t, url)
	var lines strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&lines, `{"queue":"big","title":"number %d","payload":{"n":%d}}`+"\n", i, i)
	}
	if r := c.pipe(lines.String(), "enqueue", "--from", "-"); r.code != 0 {
		t.Fatalf("enqueue: %+v", r)
	}
	for _, form := range []string{"jsonl", "json", "tsv", "csv"} {
		for range 3 {
			r := c.sh("bash", "todoctl list -q big -o "+form+" | head -n 1 >/dev/null; echo ${PIPESTATUS[0]}")
			if code := strings.TrimSpace(r.out); code != "0" && code != "141" || r.err != "" {
				t.Errorf("-o %s: ends with %s, stderr %q", form, code, r.err)
			}
		}
	}
	// Nothing runs on at the server. The end of a connection is noticed by it a little later.
	conn := pgtest.Connect(t, url)
	running := -1
	for range 100 {
		err := conn.QueryRow(context.Background(),
			"select count(*) from pg_stat_activity where datname = current_database() and application_name = 'todoctl list' and state = 'active'").Scan(&running)
		if err != nil {
			t.Fatal(err)
		}
		if running == 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if running != 0 {
		t.Errorf("%d statements still run", running)
	}
}

// The case asks something of a claim that finds nothing; by the contract that prints nothing, or [] with
// --limit, and exits 3.
func TestCaseC112EmptyAnswers(t *testing.T) {
	c := newCLI(t)
	for _, argv := range []string{"list -q none", "dead-letters -q none", "queues", "queues -q none"} {
		if got := c.ok(append(strings.Fields(argv), "-o", "json")...); got != "[]" {
			t.Errorf("%s: %q", argv, got)
		}
		if got := c.ok(append(strings.Fields(argv), "-o", "jsonl")...); got != "" {
			t.Errorf("%s -o jsonl: %q", argv, got)
		}
	}
	if r := c.fails(3, "claim", "-q", "none", "-n", "5", "-o", "json"); r.out != "[]\n" {
		t.Errorf("claim -n: %q", r.out)
	}
	if r := c.fails(3, "claim", "-q", "none", "-o", "json"); r.out != "" || !strings.Contains(r.err, `"code":"empty"`) {
		t.Errorf("claim: %q, %q", r.out, r.err)
	}
	reaped := decode[map[string]any](t, c.ok("reap", "-o", "json"))
	for _, key := range []string{"requeued", "retried", "dead"} {
		if v, there := reaped[key]; !there || v == nil {
			t.Errorf("reap has no %s: %v", key, reaped)
		}
	}
	id := c.ok("enqueue", "-q", "q", "1")
	shown := decode[map[string]any](t, c.ok("show", id, "-o", "json"))
	if list, isList := shown["history"].([]any); !isList || len(list) != 0 {
		t.Errorf("the history of a new todo is %v", shown["history"])
	}
	for _, key := range []string{"result", "owner", "error", "event", "lease_expires_at"} {
		if v, there := shown[key]; !there || v != nil {
			t.Errorf("%s is %v, there: %v", key, v, there)
		}
	}
}

func TestCaseC115FullDisk(t *testing.T) {
	c := newCLI(t)
	id := c.ok("enqueue", "-q", "q", "1")
	for _, form := range []string{"json", "tsv", "csv", "table"} {
		if r := c.sh("sh", "todoctl list -o "+form+" > /dev/full"); r.code != 1 || !strings.Contains(r.err, "no space left") {
			t.Errorf("list -o %s: exit %d: %s", form, r.code, r.err)
		}
	}
	for _, args := range []string{"-o json", "-o env", "", "-n 3"} {
		if r := c.sh("sh", "todoctl claim -q q "+args+" > /dev/full"); r.code != 1 || !strings.Contains(r.err, "no space left") {
			t.Errorf("claim %s: exit %d: %s", args, r.code, r.err)
		}
		got := decode[map[string]any](t, c.ok("show", id, "-o", "json"))
		if got["condition"] != "pending" || fmt.Sprint(got["attempt"]) != "0" {
			t.Errorf("claim %s did not give the todo back: %v", args, got)
		}
	}
}
