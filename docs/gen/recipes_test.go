//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

// place copies an example into the shell's home, or writes a file there.
func (s shell) place(name, text string) {
	s.t.Helper()
	if text == "" {
		text = read(s.t, "docs/examples/"+name)
	}
	if err := os.WriteFile(filepath.Join(s.home(), name), []byte(text), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// fill enqueues a todo for each payload.
func (s shell) fill(queue string, payloads ...string) {
	s.t.Helper()
	var lines strings.Builder
	for _, p := range payloads {
		fmt.Fprintf(&lines, "{\"payload\":%s}\n", p)
	}
	c := s.command("todoctl", "enqueue", "-q", queue, "--from", "-", "--quiet")
	c.Stdin = strings.NewReader(lines.String())
	if out, err := c.CombinedOutput(); err != nil {
		s.t.Fatalf("%v\n%s", err, out)
	}
}

// states are the payloads with what became of them.
func (s shell) states() string {
	s.t.Helper()
	return s.run("todoctl", "list", "--state", "all", "-o", "jsonl", "--jq", `"\(.payload) \(.condition)"`)
}

// status is the exit status of a line of shell.
func (s shell) status(line string) int {
	s.t.Helper()
	c := s.command("sh", "-c", line)
	if err := c.Run(); err != nil && c.ProcessState == nil {
		s.t.Fatal(err)
	}
	return c.ProcessState.ExitCode()
}

// line finds the line of the guide that begins so.
func line(t *testing.T, begins string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(begins) + `.*$`).FindString(read(t, "docs/guide/shell-workers.md"))
	if m == "" {
		t.Fatalf("the guide has no line %q", begins)
	}
	return m
}

// send fails for the payload 13, like a handler that cannot do everything.
const send = "#!/bin/sh\nread -r n || :\n[ \"$n\" != 13 ]\n"

// The smallest worker there can be: claim and complete in at most 15 lines. What fails is left to its lease.
func TestTinyWorker(t *testing.T) {
	if n := strings.Count(read(t, "docs/examples/tiny-worker.sh"), "\n"); n > 15 {
		t.Errorf("the tiny worker has %d lines", n)
	}
	for _, sh := range []string{"dash", "bash"} {
		s := newShell(t, pgtest.Database(t))
		s.place("tiny-worker.sh", "")
		s.place("send.sh", send)
		s.fill("mail", "12", "13", "14")
		s.run(sh, "tiny-worker.sh", "mail", "./send.sh")
		if got := s.states(); got != "12 done\n13 claimed\n14 done\n" {
			t.Errorf("%s: %s", sh, got)
		}
	}
	s := newShell(t, "postgres://nobody@127.0.0.1:1/none")
	s.place("tiny-worker.sh", "")
	if got := s.status("sh tiny-worker.sh mail ./send.sh"); got != 8 {
		t.Errorf("with no database it ends with %d", got)
	}
}

// The same worker, many times at once, by the lines of the guide.
func TestTinyWorkersAtOnce(t *testing.T) {
	for _, tool := range []string{"seq 4 | xargs", "parallel"} {
		s := newShell(t, pgtest.Database(t))
		s.place("tiny-worker.sh", "")
		s.place("send.sh", send)
		var payloads []string
		for n := range 24 {
			payloads = append(payloads, fmt.Sprint(n+20))
		}
		s.fill("mail", payloads...)
		if got := s.status(line(t, tool)); got != 0 {
			t.Errorf("%s ends with %d", tool, got)
		}
		if got := s.states(); strings.Count(got, " done\n") != 24 {
			t.Errorf("%s: %s", tool, got)
		}
	}
	// One claims, each handler reports.
	s := newShell(t, pgtest.Database(t))
	s.place("send-by-receipt.sh", "#!/bin/sh\ntest \"$(todoctl show \"$1\" --jq .payload)\" != 13\n")
	s.fill("mail", "12", "13", "14")
	if got := s.status(line(t, "todoctl claim -q mail --limit 100")); got != 0 {
		t.Errorf("the pipe ends with %d", got)
	}
	if got := s.states(); got != "12 done\n13 retrying\n14 done\n" {
		t.Errorf("%s", got)
	}
}

// What the guide says that the exit codes of xargs and parallel hide.
func TestExitCodesOfXargsAndParallel(t *testing.T) {
	s := newShell(t, pgtest.Database(t))
	for line, want := range map[string]int{
		`printf '1\n8\n4\n0\n' | xargs -n 1 -P 4 sh -c 'exit "$0"'`:   123,
		`printf '0\n255\n0\n' | xargs -n 1 sh -c 'exit "$0"'`:         124,
		`echo x | xargs -n 1 sh -c 'kill -9 $$'`:                      125,
		`echo x | xargs ./nosuch`:                                     127,
		`todoctl claim -q none -n 9 -o receipt | xargs -r -n 1 false`: 0,
		`parallel -j 2 'exit {}' ::: 1 8 4 0`:                         3,
		`parallel -j 2 'exit {}' ::: 255 0`:                           1,
		`parallel 'kill -9 $$' ::: 1`:                                 1,
		`parallel ./nosuch ::: 1 2`:                                   2,
		`seq 101 | parallel -j 4 -N 1 false`:                          101,
		`todoctl claim -q none -n 9 -o receipt | parallel -r false`:   0,
		`todoctl claim -q none`:                                       3,
	} {
		if got := s.status(line + " 2>/dev/null"); got != want {
			t.Errorf("%s ends with %d, want %d", line, got, want)
		}
	}
}

// The children for --stream, in python and in node, by the lines of the guide.
func TestStreamChildren(t *testing.T) {
	for _, program := range []string{"python3 stream-child.py", "node stream-child.mjs"} {
		s := newShell(t, pgtest.Database(t))
		name := strings.Fields(program)[1]
		s.place(name, "")
		s.fill("texts", `{"text":"hello"}`, `{"text":"ü"}`, `{"no":"text"}`, `{"text":""}`)
		call := line(t, "todoctl work -q texts -c 2 --stream -- "+program)
		if got := s.status(strings.Replace(call, "--stream", "--stream --drain", 1)); got != 7 {
			t.Errorf("%s ends with %d", call, got)
		}
		got := s.run("todoctl", "list", "--state", "all", "-o", "jsonl", "--jq", `"\(.condition) \(.result)"`)
		if want := "done {\"length\":5}\ndone {\"length\":1}\nretrying null\ndone {\"length\":0}\n"; got != want {
			t.Errorf("%s: %s", program, got)
		}
		if got := s.run("todoctl", "list", "--state", "retrying", "-o", "jsonl", "--jq", ".error"); !strings.Contains(got, "Error") {
			t.Errorf("%s: the error is %q", program, got)
		}
	}
	// A result from stdout.
	s := newShell(t, pgtest.Database(t))
	s.fill("orders", `{"items":[1,2,3]}`)
	s.run("sh", "-ec", line(t, "todoctl work -q orders"))
	if got := s.run("todoctl", "list", "--state", "all", "-o", "jsonl", "--jq", `.result`); got != "3\n" {
		t.Errorf("result %s", got)
	}
}

// What the examples for schedulers pass to todoctl works off a queue, in a bare environment. The service ends in order on the signal
// that systemd sends, the job by itself, also where some failed.
func TestWorkExamples(t *testing.T) {
	path, err := exec.LookPath("todoctl")
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct{ pattern, send string }{
		"todoctl-work.service":  {`(?m)^ExecStart=/usr/bin/todoctl (work .*)$`, "/usr/local/bin/send"},
		"todoctl-work.k8s.yaml": {`(?m)^\s+args: \[(work.*)\]`, "/app/send"},
	} {
		url := pgtest.Database(t)
		s := newShell(t, url)
		s.place("send", send)
		s.place("url", url+"\n")
		s.fill("mail", "12", "13", "14")
		words := strings.ReplaceAll(matches(t, "docs/examples/"+name, x.pattern)[0], ", ", " ")
		words = regexp.MustCompile(`%d/db|/run/secrets/todoctl/url`).ReplaceAllLiteralString(words, filepath.Join(s.home(), "url"))
		words = strings.ReplaceAll(strings.ReplaceAll(words, x.send, filepath.Join(s.home(), "send")), `"`, "")
		c := exec.Command(path, strings.Fields(words)...)
		c.Env = []string{"PATH=/usr/bin:/bin"}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".service") {
			for end := time.Now().Add(2 * time.Minute); s.states() != "12 done\n13 retrying\n14 done\n"; {
				if time.Now().After(end) {
					t.Fatalf("not worked off:\n%s", s.states())
				}
			}
			if err := c.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := s.states(); got != "12 done\n13 retrying\n14 done\n" {
			t.Errorf("%s: %s", name, got)
		}
	}
	// The grace time fits into what the schedulers wait.
	for name, pattern := range map[string]string{"todoctl-work.service": `(?m)^TimeoutStopSec=45s$`, "todoctl-work.k8s.yaml": `(?m)terminationGracePeriodSeconds: 45\b`} {
		if !regexp.MustCompile(pattern).MatchString(read(t, "docs/examples/"+name)) {
			t.Errorf("%s has no %s", name, pattern)
		}
	}
}
