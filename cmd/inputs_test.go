package cmd_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/itchyny/gojq"
)

// inputs is where the demo's sets of deliveries lie.
func inputs(name ...string) string {
	return filepath.Join(append([]string{"..", "docs", "demo", "inputs"}, name...)...)
}

// envelope runs an envelope over a file, as the demo does with jq, and returns the lines for enqueue --from. jq before 1.7
// rounds large numbers; gojq keeps every digit.
func envelope(t *testing.T, program, file string) string {
	t.Helper()
	text, err := os.ReadFile(inputs("envelope", program))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := gojq.Parse(string(text))
	if err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	in, err := os.Open(inputs(file))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var lines bytes.Buffer
	for d := json.NewDecoder(bufio.NewReader(in)); ; {
		d.UseNumber()
		var v any
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return lines.String()
		} else if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for results := parsed.Run(v); ; {
			r, more := results.Next()
			if !more {
				break
			}
			if err, bad := r.(error); bad {
				t.Fatalf("%s over %s: %v", program, file, err)
			}
			line, err := gojq.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			lines.Write(append(line, '\n'))
		}
	}
}

// TestInputs takes each set through its envelope: duplicates collapse, a second run makes nothing while the todos live, and
// after all are done a third makes all of them anew.
func TestInputs(t *testing.T) {
	for _, set := range []struct {
		file, program string
		todos, keys   int
		digits        string // what must be found in a payload as it is in the file
	}{
		{"github-deliveries.ndjson", "github.jq", 120, 116, ""},
		{"stripe-events.ndjson", "stripe.jq", 250, 234, ""},
		{"slack-events.ndjson", "slack.jq", 299, 260, ""},
		{"registry-notifications.ndjson", "registry.jq", 334, 300, `"size":([0-9]{10,})`},
		{"cron-heartbeats.ndjson", "cron.jq", 53, 41, ""},
		{"sqs-messages.ndjson", "sqs.jq", 200, 189, `\\"orderId\\": ?([0-9]{16,})`},
		{"sidekiq-dead.ndjson", "sidekiq.jq", 120, 120, `"id":([0-9]{16,})`},
		{"river-discarded.ndjson", "river.jq", 100, 100, `"customer_id":([0-9]{16,})`},
	} {
		t.Run(set.program, func(t *testing.T) {
			t.Parallel()
			c, conn, _ := withDB(t)
			lines := envelope(t, set.program, set.file)
			enqueue := func(run string, want bulk) {
				t.Helper()
				r := c.pipe(lines, "enqueue", "--from", "-", "-o", "json")
				if r.code != 0 {
					t.Fatalf("%s run: exit %d\n%s", run, r.code, r.err)
				}
				if got := decode[bulk](t, r.out); got != want {
					t.Errorf("%s run: %+v, want %+v", run, got, want)
				}
			}
			enqueue("first", bulk{Created: set.keys, Duplicates: set.todos - set.keys})
			enqueue("second", bulk{Duplicates: set.todos})

			var keys, payloads []string
			seen := map[string]bool{}
			for line := range strings.Lines(lines) {
				l := decode[struct {
					Key     string
					Payload json.RawMessage
				}](t, line)
				if !seen[l.Key] {
					seen[l.Key] = true
					keys, payloads = append(keys, l.Key), append(payloads, string(l.Payload))
				}
			}
			if n := pgValue[int](t, conn, `SELECT count(*) FROM unnest($1::text[], $2::text[]) u(key, payload)
				JOIN todos t ON t.idempotency_key = u.key AND t.payload::text = u.payload::jsonb::text`, keys, payloads); n != set.keys {
				t.Errorf("%d of %d todos have the payload of the first line with their key", n, set.keys)
			}
			digitsSurvive(t, set.file, set.digits, pgValue[string](t, conn, "SELECT string_agg(payload::text, ' ') FROM todos"))

			queues := pgValue[string](t, conn, "SELECT string_agg(DISTINCT queue, ',') FROM todos")
			if r := c.sh("sh", "todoctl claim -q "+queues+" -n 10000 -o receipt | todoctl complete - --quiet"); r.code != 0 {
				t.Fatalf("complete all: exit %d\n%s", r.code, r.err)
			}
			enqueue("third", bulk{Created: set.keys, Duplicates: set.todos - set.keys})
			if got := pgValue[[]int](t, conn, `SELECT ARRAY[count(*) FILTER (WHERE state = 'done'), count(*) FILTER (WHERE state = 'pending')] FROM todos`); got[0] != set.keys || got[1] != set.keys {
				t.Errorf("%d done and %d pending, want %d of each", got[0], got[1], set.keys)
			}
		})
	}
}

// digitsSurvive requires that the numbers which pattern finds in a file are in the stored text, digit for digit.
func digitsSurvive(t *testing.T, file, pattern, stored string) {
	t.Helper()
	if pattern == "" {
		return
	}
	raw, err := os.ReadFile(inputs(file))
	if err != nil {
		t.Fatal(err)
	}
	numbers := regexp.MustCompile(pattern).FindAllStringSubmatch(string(raw), -1)
	if len(numbers) < 10 {
		t.Fatalf("%s finds only %d numbers", pattern, len(numbers))
	}
	for _, n := range numbers {
		if !strings.Contains(stored, n[1]) {
			t.Errorf("%s is in %s and in no payload", n[1], file)
		}
	}
}

// TestSixteenThousandLines enqueues ten times all sets, 16,400 lines, in one transaction and in less than 64 MiB, by a binary
// as it is released: the race detector multiplies what a process needs.
func TestSixteenThousandLines(t *testing.T) {
	c, conn, _ := withDB(t)
	binary := filepath.Join(c.dir, "released")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	python(t, inputs("generate.py"), c.dir, "--scale", "10")
	files, err := filepath.Glob(filepath.Join(c.dir, "*.ndjson"))
	if err != nil || len(files) != 8 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var lines bytes.Buffer
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(raw) {
			lines.WriteString(`{"queue":"load","payload":` + strings.TrimSuffix(string(line), "\n") + "}\n")
		}
	}
	if n := bytes.Count(lines.Bytes(), []byte("\n")); n != 16400 {
		t.Fatalf("%d lines", n)
	}
	c.file("all", lines.String())

	// The peak of a process whose parent is small: Linux counts what the parent had when it was forked.
	const peak = `import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
size = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(size if sys.platform == "darwin" else size * 1024)
sys.exit(code)`
	measure := exec.Command("python3", "-c", peak, binary, "enqueue", "--from", "all", "--expect", "16400", "-o", "json")
	measure.Dir, measure.Env = c.dir, c.env
	var errs bytes.Buffer
	measure.Stderr = &errs
	out, err := measure.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs.String())
	}
	answer, size, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if got := decode[bulk](t, answer); got != (bulk{Created: 16400}) {
		t.Errorf("%+v", got)
	}
	if n, err := strconv.ParseInt(size, 10, 64); err != nil || n >= 64<<20 {
		t.Errorf("resident memory reached %s bytes, which is not below 64 MiB", size)
	} else {
		t.Logf("resident memory reached %.1f MiB for %.1f MiB of input", float64(n)/(1<<20), float64(lines.Len())/(1<<20))
	}
	if got := pgValue[[]int](t, conn, "SELECT ARRAY[count(*), count(DISTINCT xmin::text)] FROM todos"); got[0] != 16400 || got[1] != 1 {
		t.Errorf("%d todos by %d transactions", got[0], got[1])
	}
}

// python runs a script with the python3 of the machine.
func python(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("python3", args...).CombinedOutput(); err != nil {
		t.Fatalf("python3 %s: %v\n%s\n(python3 is missing? sh .ci/setup test)", strings.Join(args, " "), err, out)
	}
}
