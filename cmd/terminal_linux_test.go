package cmd_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// session is a todoctl at a terminal, and what it has shown so far.
type session struct {
	*exec.Cmd
	t       *testing.T
	primary *os.File
	shown   string
}

// sit starts todoctl with all three streams at a terminal of 100 columns.
func (c *cli) sit(args ...string) *session {
	c.t.Helper()
	primary, secondary := c.openTerminal(100)
	s := &session{exec.Command("todoctl", args...), c.t, primary, ""}
	s.Dir, s.Env, s.Stdin, s.Stdout, s.Stderr = c.dir, c.env, secondary, secondary, secondary
	s.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = s.Process.Kill() })
	_ = secondary.Close()
	return s
}

// until reads until the terminal shows the text; "" is until the program has ended.
func (s *session) until(text string) {
	s.t.Helper()
	for buffer := make([]byte, 4096); text == "" || !strings.Contains(s.shown, text); {
		n, err := s.primary.Read(buffer)
		s.shown += strings.ReplaceAll(string(buffer[:n]), "\r\n", "\n")
		switch {
		case err == nil:
		case text == "" && (errors.Is(err, syscall.EIO) || errors.Is(err, io.EOF)): // the last writer is gone
			return
		default:
			s.t.Fatalf("%q never came, %v: %q", text, err, s.shown)
		}
	}
}

// answer types a text, lets the program end, and requires how.
func (s *session) answer(typed, end string) {
	s.t.Helper()
	if _, err := s.primary.WriteString(typed); err != nil {
		s.t.Fatal(err)
	}
	s.until("")
	_ = s.Wait() // how it ended is asked for below
	if got := s.ProcessState.String(); got != end {
		s.t.Errorf("%q ended with %s, want %s: %q", s.Args, got, end, s.shown)
	}
}

// TestTerminalPrompt answers the question that stands before every change that nobody named: yes does
// it, anything else does not, and a Ctrl-C ends it as the signal does.
func TestTerminalPrompt(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	const rows = 3
	fill := func() {
		pgExec(t, conn, `INSERT INTO todos (queue, state, completed_at) SELECT 'mail', 'failed', now() FROM generate_series(1, $1::int)`, rows)
	}
	fill()
	dead := func() int { return pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state = 'failed'") }
	for _, x := range []struct{ typed, end string }{{"\n", "exit status 2"}, {"n\n", "exit status 2"}, {"yep\n", "exit status 2"},
		{"\x04", "exit status 2"}, {"\x03", "signal: interrupt"}} {
		s := c.sit("retry", "-q", "mail")
		s.until("[y/N] ")
		if want := "retry 3 todos? [y/N] "; !strings.HasSuffix(s.shown, "\n"+want) || !strings.HasPrefix(s.shown, "note: retry on ") {
			t.Errorf("the question is %q, want the target, then %q", s.shown, want)
		}
		s.answer(x.typed, x.end)
		if dead() != rows {
			t.Fatalf("%q was taken for a yes", x.typed)
		}
		if x.end == "exit status 2" && !strings.Contains(s.shown, "todoctl: not confirmed; nothing was changed\n") {
			t.Errorf("after %q: %q", x.typed, s.shown)
		}
	}
	s := c.sit("retry", "-q", "mail")
	s.until("[y/N] ")
	s.answer("y\n", "exit status 0")
	if dead() != 0 || !strings.Contains(s.shown, "changed") {
		t.Errorf("after a yes %d are left: %q", dead(), s.shown)
	}
	fill()
	s = c.sit("dead-letters", "purge", "--all")
	s.until("purge 3 todos? [y/N] ")
	s.answer("YES\n", "exit status 0")
	s = c.sit("prune", "--all")
	s.until("[y/N] ")
	s.answer("no\n", "exit status 2")
	s = c.sit("bury", "--all", "--yes")
	s.answer("", "exit status 0")
	if strings.Contains(s.shown, "[y/N]") {
		t.Errorf("asked in spite of --yes: %q", s.shown)
	}
	// Verbs on named todos never ask.
	id := c.ok("enqueue", "-q", "mail")
	s = c.sit("bury", id)
	s.answer("", "exit status 0")
	if strings.Contains(s.shown, "[y/N]") {
		t.Errorf("asked about a named todo: %q", s.shown)
	}
	// With the answer piped in, or the question unseen, nobody was asked.
	if r := c.pipe("y\n", "retry", "--all"); r.code != 2 || !strings.Contains(r.err, "--yes") {
		t.Errorf("a piped yes: exit %d, %s", r.code, r.err)
	}
}

// TestTerminalTable shows the default of a terminal: a table that ends after 50, and what lies beyond.
func TestTerminalTable(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c = c.with("NO_COLOR=1")
	if r := c.tty(80, "list"); r.code != 0 || r.out != "note: no todos match\n" {
		t.Errorf("an empty list: exit %d, %q", r.code, r.out)
	}
	pgExec(t, conn, `INSERT INTO todos (id, queue, payload) SELECT 'td_' || i, 'mail', '"secret"' FROM generate_series(1000, 1059) i`)
	r := c.tty(80, "list")
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if !strings.HasPrefix(lines[0], "ID ") || len(lines) != 52 || lines[51] != "note: 10 more; --limit N shows more, --after td_1049 goes on" {
		t.Errorf("%d lines:\n%s", len(lines), r.out)
	}
	if strings.Contains(r.out, "secret") {
		t.Error("a payload in a table")
	}
	for args, want := range map[string]int{"list --quiet": 51, "list --limit 60": 61, "list --after td_1049": 11, "list -o tsv": 60, "list -o id": 60,
		"list -n 3 -o id": 3} {
		if got := strings.Count(c.tty(80, strings.Fields(args)...).out, "\n"); got != want {
			t.Errorf("%s: %d lines, want %d", args, got, want)
		}
	}
	if got := strings.Count(c.ok("list"), "\n") + 1; got != 60 {
		t.Errorf("off a terminal %d lines, want all 60 and no header", got)
	}
	// A note is for people who see both: it is not among the lines of a file.
	if r := c.sh("sh", "todoctl list -o table"); strings.Count(r.out, "\n") != 61 || r.err != "" {
		t.Errorf("a table in a file: %d lines, stderr %q", strings.Count(r.out, "\n"), r.err)
	}
}

// TestTerminalEmptyClaim tells a person why there is nothing, and a script nothing but the status.
func TestTerminalEmptyClaim(t *testing.T) {
	t.Parallel()
	c, _, _ := withDB(t)
	if r := c.tty(80, "claim", "-q", "mail"); r.code != 3 || r.out != "todoctl: nothing to claim: queue mail is not known\nhint: todoctl queues lists the queues there are\n" {
		t.Errorf("at a terminal: exit %d, %q", r.code, r.out)
	}
	if r := c.tty(80, "claim", "-q", "mail", "--quiet"); r.code != 3 || r.out != "" {
		t.Errorf("at a terminal, quietly: exit %d, %q", r.code, r.out)
	}
	if r := c.run("claim", "-q", "mail"); r.code != 3 || r.out+r.err != "" {
		t.Errorf("off a terminal: exit %d, %q%q", r.code, r.out, r.err)
	}
	c.ok("enqueue", "-q", "mail", "--delay", "1h")
	if r := c.tty(80, "claim", "-q", "mail"); r.code != 3 || !strings.Contains(r.out, "queue mail waits until 20") {
		t.Errorf("delayed: exit %d, %q", r.code, r.out)
	}
}

// TestTerminalInput says that it waits for what is typed, and takes it.
func TestTerminalInput(t *testing.T) {
	t.Parallel()
	c, _, _ := withDB(t)
	for _, args := range [][]string{{"enqueue", "-q", "mail", "--payload", "-"}, {"enqueue", "-q", "mail", "--from", "-"}} {
		s := c.sit(args...)
		s.until("reading from the terminal; end with Ctrl-D\n")
		s.answer("{\"payload\":1}\n\x04", "exit status 0")
	}
	s := c.sit("complete", "-")
	s.until("end with Ctrl-D")
	s.answer("td_none\n\x04", "exit status 5")
	if got := c.ok("list", "--jq", "map(.payload) | tostring"); got != `[{"payload":1},1]` {
		t.Errorf("typed in: %s", got)
	}
	// What was not asked for with - is never read, so nothing waits.
	s = c.sit("enqueue", "-q", "mail")
	s.answer("", "exit status 0")
}

// TestTerminalNotes shows which remarks a person gets that a script does not.
func TestTerminalNotes(t *testing.T) {
	t.Parallel()
	c, _, _ := withDB(t)
	c.ok("enqueue", "-q", "mail", "--key", "k")
	if r := c.tty(200, "enqueue", "-q", "mail", "--key", "k"); !strings.Contains(r.out, "a duplicate: the live todo with this key is pending") {
		t.Errorf("a duplicate: %q", r.out)
	}
	receipt := c.ok("claim", "-q", "mail", "-o", "receipt")
	c.ok("complete", receipt)
	if r := c.tty(200, "complete", receipt); r.code != 0 || !strings.Contains(r.out, "had been done before, with the same receipt") {
		t.Errorf("a repetition: %q", r.out)
	}
	for _, args := range [][]string{{"complete", receipt}, {"complete", receipt, "-o", "json"}} {
		if r := c.run(args...); r.code != 0 || r.err != "" {
			t.Errorf("%q off a terminal: exit %d, stderr %q", args, r.code, r.err)
		}
	}
	r := c.tty(200, "complete", receipt, "-o", "json")
	if note := decode[struct{ Note string }](t, r.out).Note; !strings.Contains(note, "done before") {
		t.Errorf("as JSON: %q", r.out)
	}
}

// A long bulk enqueue tells a person how far it is, and clears that away at its end.
func TestTerminalProgress(t *testing.T) {
	t.Parallel()
	s := newCLI(t).sit("enqueue", "-q", "q", "--from", "-")
	shown, typed := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-shown:
				typed <- nil
				return
			case <-time.After(50 * time.Millisecond): // nothing is told of what takes less than two seconds
				if _, err := s.primary.WriteString("{}\n"); err != nil {
					typed <- err
					return
				}
			}
		}
	}()
	s.until(" lines, ")
	close(shown)
	if err := <-typed; err != nil {
		t.Fatal(err)
	}
	s.answer("\x04", "exit status 0")
	if _, after, _ := strings.Cut(s.shown, " lines, "); !strings.Contains(after, "\r\x1b[K") || !strings.Contains(after, " created, 0 duplicates") {
		t.Errorf("after the progress: %q", after)
	}
}

// TestImportAsks makes nothing of a file until somebody says yes.
func TestImportAsks(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	file := filepath.Join(c.dir, "in.jsonl")
	if err := os.WriteFile(file, []byte(`{"id":"td_1","queue":"q","state":"pending"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		typed, end string
		todos      int
	}{{"n\n", "exit status 2", 0}, {"y\n", "exit status 0", 1}} {
		s := c.sit("import", file)
		s.until("in.jsonl? [y/N] ")
		s.answer(x.typed, x.end)
		if n := pgValue[int](t, conn, "SELECT count(*) FROM todos"); n != x.todos {
			t.Errorf("%q: %d todos", x.typed, n)
		}
	}
}

// TestNoListenIsSaid tells a person, once, that a command that waits will look again now and then; who does not wait is told nothing.
func TestNoListenIsSaid(t *testing.T) {
	t.Parallel()
	c, _, _ := withDB(t)
	id := c.ok("enqueue", "-q", "q")
	for args, want := range map[string]int{"claim -q none --wait 300ms": 1, "claim -q none": 0, "wait --no-listen --timeout 300ms " + id: 1,
		"work -q none --idle 300ms -- true": 1, "work -q none --drain -- true": 0} {
		if r := c.tty(120, strings.Fields(strings.Replace("--color=never "+args, "-q none", "-q none --no-listen", 1))...); strings.Count(r.out, "note: looking again now and then") != want {
			t.Errorf("%s: %q", args, r.out)
		}
	}
}
