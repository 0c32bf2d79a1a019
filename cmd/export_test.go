package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// exported fills a database with a todo in each state, with history, an event and digits that no float
// holds, and returns what export writes of it.
func exportedTodos(t *testing.T, c *cli, conn *pgx.Conn) string {
	t.Helper()
	c.ok("enqueue", "-q", "mail", "--key", "k1", "--title", "tab\there", "--event", `{"source":"hook","kind":"k","external_id":"x1","payload":{"big":12345678901234567890.10}}`,
		`{"n":100000000000000000000000.10,"e":1e3,"password":"hunter2","deep":[{"token":"t","keep":1}]}`)
	c.ok("enqueue", "-q", "mail", "--key", "k2", "--delay", "1h", `"later"`)
	for i, end := range [][]string{{"complete", "--result", `{"sum":0.10000000000000000000000001}`}, {"fail", "--error", "timeout after 30 s"}, {"fail", "--dead", "--error", "line\nbreak"}, nil} {
		id := c.ok("enqueue", "-q", "work", "--assignee", "w", "--max-attempts", "3", "--kind", "x", `{"i":1}`)
		c.ok("release", c.ok("claim", id, "-o", "receipt"), "--error", "not now")
		receipt := c.ok("claim", id, "-o", "receipt", "--ttl", "1h")
		if end != nil {
			c.ok(append([]string{end[0], receipt}, end[1:]...)...)
		} else if i != 3 {
			t.Fatal("the last one stays claimed")
		}
	}
	pgExec(t, conn, "UPDATE todos SET progress = 40, progress_seq = lease_seq WHERE state = 'claimed'")
	pgExec(t, conn, "UPDATE todos SET run_at = 'infinity' WHERE idempotency_key = 'k2'")
	return c.ok("export") + "\n"
}

// TestExportImportRoundTrip takes todos into an empty database and out of it again: the same bytes. A
// second import changes nothing.
func TestExportImportRoundTrip(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	before := exportedTodos(t, c, conn)
	if n := strings.Count(before, "\n"); n != 6 {
		t.Fatalf("%d lines:\n%s", n, before)
	}
	for _, want := range []string{`100000000000000000000000.10`, `12345678901234567890.10`, `0.10000000000000000000000001`, `"outcome":"released"`, `"run_at":"infinity"`, `"progress":40`} {
		if !strings.Contains(before, want) {
			t.Errorf("the export lacks %s", want)
		}
	}
	d, other, _ := withDB(t)
	if r := d.pipe(before, "import", "--yes", "-"); r.code != 0 || r.out != "6\t0\t0\t0\n" {
		t.Fatalf("import: exit %d %s%s", r.code, r.out, r.err)
	}
	if after := d.ok("export") + "\n"; after != before {
		t.Errorf("after a round trip:\n%s\nbefore:\n%s", after, before)
	}
	rows := `SELECT md5(string_agg(x, ',' ORDER BY x)) FROM (SELECT t.ctid::text || t::text AS x FROM todos t UNION ALL SELECT a.ctid::text || a::text FROM todo_attempts a
		UNION ALL SELECT e.ctid::text || e::text FROM events e UNION ALL SELECT q.ctid::text || q::text FROM queues q) r`
	was := pgValue[string](t, other, rows)
	if got := d.ok("journal", "--jq", ".[] | [.verb, .matched, .changed, .options.file, .who] | tojson"); got != `["import",6,6,"-","w"]` {
		t.Errorf("the journal: %s", got)
	}
	if r := d.pipe(before, "import", "--yes", "-", "-o", "json", "--jq", "[.created, .existing, .superseded] == [0, 6, 0]"); r.out != "true\n" {
		t.Errorf("a second import: exit %d %s%s", r.code, r.out, r.err)
	}
	if is := pgValue[string](t, other, rows); is != was {
		t.Error("a second import changed rows")
	}
	if n := pgValue[int](t, other, "SELECT count(*) FROM todo_journal"); n != 1 {
		t.Errorf("%d rows in the journal", n)
	}
	if r := d.pipe(before+before, "import", "--yes", "-"); r.out != "0\t12\t0\t0\n" {
		t.Errorf("the file twice: exit %d %s%s", r.code, r.out, r.err)
	}
	d.ok("claim", "-q", "mail", "--owner", "anybody") // what came in is live
	if got := d.ok("queues", "--fields", "queue", "-o", "tsv"); got != "mail\nwork" {
		t.Errorf("queues: %q", got)
	}
}

// TestExportKnowsEveryColumn fails when a column is added that an export would lose.
func TestExportKnowsEveryColumn(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.ok("enqueue", "-q", "q", "1")
	line := decode[map[string]any](t, c.ok("export"))
	for table, left := range map[string]string{"todos": "available_at progress_seq"} {
		names := strings.Fields(pgValue[string](t, conn, `SELECT string_agg(column_name, ' ') FROM information_schema.columns WHERE table_name = $1 AND table_schema = current_schema()`, table))
		for _, name := range names {
			if _, ok := line[name]; !ok && !strings.Contains(" "+left+" ", " "+name+" ") {
				t.Errorf("%s.%s is not exported", table, name)
			}
		}
	}
}

// TestExportFiltersAndRedacts takes a part, and takes values out of it wherever they stand.
func TestExportFiltersAndRedacts(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	all := exportedTodos(t, c, conn)
	for args, want := range map[string]int{"--state dead": 1, "-q mail": 2, "--state failed,done -q work": 3, "--error timeout": 1, "--key k1": 1, "--payload {\"i\":1} --min-attempt 1": 4} {
		if got := strings.Count(c.ok(append([]string{"export"}, strings.Fields(args)...)...)+"\n", "\n"); got != want {
			t.Errorf("export %s: %d lines, want %d", args, got, want)
		}
	}
	clean := c.ok("export", "--redact", "password,token,big")
	if strings.Contains(clean, "hunter2") || strings.Contains(clean, `"t"`) || strings.Contains(clean, "12345678901234567890") ||
		strings.Count(clean, "[redacted]") != 3 || !strings.Contains(clean, `"keep":1`) || !strings.Contains(clean, "100000000000000000000000.10") {
		t.Errorf("redacted: %s", clean)
	}
	if !strings.Contains(all, "hunter2") {
		t.Error("nothing to redact was there")
	}
	c.fails(2, "export", "-o", "csv")
	c.fails(2, "export", "--fields", "id")
}

// TestImportRekeys makes copies beside the originals: once for each mark.
func TestImportRekeys(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	all := exportedTodos(t, c, conn)
	if r := c.pipe(all, "import", "--yes", "--rekey", "-copy", "-"); r.out != "6\t0\t0\t0\n" {
		t.Fatalf("copy: exit %d %s%s", r.code, r.out, r.err)
	}
	if r := c.pipe(all, "import", "--yes", "--rekey", "-copy", "-"); r.out != "0\t6\t0\t0\n" {
		t.Errorf("copy again: exit %d %s%s", r.code, r.out, r.err)
	}
	if r := c.pipe(all, "import", "--yes", "--rekey", "-b", "-q", "test", "-"); r.out != "6\t0\t0\t0\n" {
		t.Errorf("into a queue: exit %d %s%s", r.code, r.out, r.err)
	}
	if got := c.ok("list", "-q", "mail,test", "--state", "all", "--jq", `[.[] | .idempotency_key | select(. != null)] | sort | join(" ")`); got != "k1 k1-b k1-copy k2 k2-b k2-copy" {
		t.Errorf("keys: %s", got)
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM events"); n != 1 {
		t.Errorf("%d events, want the one that all copies came from", n)
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos a JOIN todos b ON a.queue = b.queue AND a.created_at = b.created_at AND a.id <> b.id AND a.queue = 'work'"); n != 8 {
		t.Errorf("%d pairs of copies of the same time", n)
	}
	// A live todo with the key stands in the way of a live one, not of a dead one.
	pgExec(t, conn, "UPDATE todos SET id = 'td_other' WHERE idempotency_key = 'k1'")
	if r := c.pipe(all, "import", "--dry-run", "-"); r.out != "0\t5\t1\t0\n" {
		t.Errorf("dry run: exit %d %s%s", r.code, r.out, r.err)
	}
	if r := c.pipe(all, "import", "--yes", "-"); r.out != "0\t5\t1\t0\n" {
		t.Errorf("superseded: exit %d %s%s", r.code, r.out, r.err)
	}
}

// TestImportRefuses goes through bad lines, and through what must be confirmed.
func TestImportRefuses(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	good := `{"id":"td_1","queue":"q","state":"pending","payload":1}`
	for line, want := range map[string]string{
		`{"id":"td_2","queue":"q"}`:                                                                `no field "state"`,
		`{"id":"td_2","queue":"q","state":"pending","titel":"x"}`:                                  `did you mean "title"?`,
		`{"id":"td_2","queue":"q","state":"claimed","owner":"w"}`:                                  "lease_expires_at",
		`{"id":"td_2","queue":"q","state":"done"}`:                                                 "completed_at",
		`{"id":"td_2","queue":"q q","state":"pending"}`:                                            "not a queue name",
		`{"id":"td_2@1","queue":"q","state":"pending"}`:                                            "not the id of a todo",
		`{"id":"td_2","queue":"q","state":"pending","attempt":9}`:                                  "max_attempts",
		`{"id":"td_2","queue":"q","state":"pending","attempt":1.5}`:                                "attempt: a JSON number",
		`{"id":"td_2","queue":"q","state":"pending","run_at":"monday"}`:                            "not a time",
		`{"id":"td_2","queue":"q","state":"pending","history":[{"lease_seq":1,"outcome":"gone"}]}`: "not how a lease ends",
		`{"id":"td_2","queue":"q","state":"pending","event_id":"ev_1"}`:                            "event",
		`{"id":"td_2","queue":"q","state":"pending","payload":"\u0000"}`:                           "jsonb cannot hold",
		`[]`: "an array",
	} {
		r := c.pipe(good+"\n"+line+"\n", "import", "--yes", "-")
		if r.code != 6 || !strings.Contains(r.err, "line 2: ") || !strings.Contains(r.err, want) {
			t.Errorf("%s: exit %d %s", line, r.code, r.err)
		}
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos"); n != 0 {
		t.Fatalf("%d todos came of bad input", n)
	}
	file, rejects := filepath.Join(c.dir, "in"), filepath.Join(c.dir, "rejects")
	if err := os.WriteFile(file, []byte(good+"\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.fails(2, "import", file) // nobody can be asked
	c.fails(2, "import", "-")
	c.fails(2, "import", "--yes", filepath.Join(c.dir, "missing"))
	c.fails(6, "import", "--yes", "--skip-invalid", "--expect", "2", file)
	c.fails(7, "import", "--yes", "--skip-invalid", "--rejects", rejects, file)
	if kept, err := os.ReadFile(rejects); err != nil || string(kept) != "{}\n" {
		t.Errorf("rejects: %q %v", kept, err)
	}
	if got := c.ok("list", "-o", "id"); got != "td_1" {
		t.Errorf("imported: %q", got)
	}
}

// TestEnqueueListedAgain enqueues what list printed, and still refuses what nobody printed.
func TestEnqueueListedAgain(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	exportedTodos(t, c, conn)
	listed := c.ok("list", "--state", "done,dead,retrying", "-o", "jsonl") + "\n"
	before := c.ok("list", "-o", "id")
	if r := c.pipe(listed, "enqueue", "--from", "-", "-o", "json", "--jq", ".created"); r.code != 0 || r.out != "3\n" {
		t.Fatalf("exit %d %s%s", r.code, r.out, r.err)
	}
	same := `map([.queue, .kind, .title, .payload, .assignee, .max_attempts]) | tojson`
	fresh := c.ok("list", "--state", "pending", "-q", "work", "--jq", same)
	if want := c.ok("list", "--state", "done,dead,retrying", "-q", "work", "--jq", same); fresh != want {
		t.Errorf("enqueued %s, listed %s", fresh, want)
	}
	if got := c.ok("list", "-q", "work", "--state", "pending", "--jq", `map([.attempt, .error, .owner]) | unique | tojson`); got != "[[0,null,null]]" {
		t.Errorf("what became of the old ones came along: %s", got)
	}
	if len(before) >= len(c.ok("list", "-o", "id")) {
		t.Error("no new ids")
	}
	// A duplicate of a live one; a delayed one keeps its time.
	c.ok("enqueue", "-q", "late", "--key", "l", "--delay", "2h", `{"d":0.1000}`)
	line := c.ok("list", "-q", "late", "-o", "jsonl")
	if r := c.pipe(line, "enqueue", "--from", "-"); r.out != "0\t1\t0\n" {
		t.Errorf("duplicate: exit %d %s%s", r.code, r.out, r.err)
	}
	c.ok("bury", "-q", "late", "--yes")
	if r := c.pipe(line, "enqueue", "--from", "-"); r.out != "1\t0\t0\n" {
		t.Errorf("again: exit %d %s%s", r.code, r.out, r.err)
	}
	if got := c.ok("list", "-q", "late", "--fields", "condition,payload", "-o", "tsv"); got != `delayed	{"d": 0.1000}` && got != `delayed	{"d":0.1000}` {
		t.Errorf("late: %q", got)
	}
	for line, want := range map[string]string{
		`{"queue":"q","owner":"w"}`:                      `unknown field "owner"`, // nobody prints a todo without its id
		`{"queue":"q","state":"pending"}`:                `unknown field "state"`,
		`{"id":"td_1","queue":"q","titel":"x"}`:          `did you mean "title"?`,
		`{"id":"42","queue":"q"}`:                        `unknown field "id"`,
		`{"id":"td_1","queue":"q","history":[]}`:         "todoctl import",
		`{"id":"td_1","queue":"q","max_atempts":3}`:      `did you mean "max_attempts"?`,
		`{"id":"td_1","queue":"q","event_id":"ev_no"}`:   "no event ev_no",
		`{"id":"td_1","queue":"q","payload":1,"id":"x"}`: "there twice",
	} {
		if r := c.pipe(line, "enqueue", "--from", "-"); r.code != 6 || !strings.Contains(r.err, want) {
			t.Errorf("%s: exit %d %s", line, r.code, r.err)
		}
	}
}
