package cmd_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// screen is a terminal of tmux with a shell in it.
type screen struct {
	c      *cli
	socket string
}

// openScreen starts a terminal of 80x24.
func (c *cli) openScreen() *screen {
	c.t.Helper()
	s := &screen{c, "todoctl-test-" + strconv.Itoa(os.Getpid()) + "-" + strings.ReplaceAll(c.t.Name(), "/", "-")}
	c.t.Cleanup(func() { _ = s.command("kill-server").Run() })
	s.tmux("new-session", "-d", "-x", "80", "-y", "24", "env PS1='ready> ' ENV= sh")
	s.until("ready>")
	return s
}

func (s *screen) command(args ...string) *exec.Cmd {
	p := exec.Command("tmux", append([]string{"-L", s.socket, "-f", "/dev/null"}, args...)...)
	p.Dir, p.Env = s.c.dir, append([]string{"TERM=xterm-256color", "LC_ALL=C.UTF-8", "SHELL=/bin/sh"}, s.c.env...)
	return p
}

func (s *screen) tmux(args ...string) string {
	s.c.t.Helper()
	out, err := s.command(args...).CombinedOutput()
	if err != nil {
		s.c.t.Fatalf("tmux %v: %v %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (s *screen) press(keys ...string) {
	s.c.t.Helper()
	s.tmux(append([]string{"send-keys"}, keys...)...)
}

func (s *screen) shown() string { s.c.t.Helper(); return s.tmux("capture-pane", "-p") }

func (s *screen) until(text string) {
	s.c.t.Helper()
	waitUntil(s.c.t, text, func() bool { return strings.Contains(s.shown(), text) })
}

// sane requires the shell's own screen again, with a cursor, an echo and line editing.
func (s *screen) sane() {
	s.c.t.Helper()
	s.until("ready>")
	if got := s.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{keypad_cursor_flag} #{mouse_any_flag}"); got != "0 1 0 0" {
		s.c.t.Errorf("alternate screen, cursor, keypad and mouse are %s", got)
	}
	s.press("clear; stty -a | tr ';' '\\n' | tr ' ' '\\n' | grep -xE -- '-?(echo|icanon|isig|opost)' | tr '\\n' ' '; echo e''nd", "Enter")
	s.until("end")
	for _, mode := range []string{"isig", "icanon", "echo", "opost"} {
		if shown := " " + strings.ReplaceAll(s.shown(), "\n", " ") + " "; !strings.Contains(shown, " "+mode+" ") {
			s.c.t.Errorf("%s is off: %s", mode, shown)
		}
	}
	s.press("clear", "Enter")
}

// TestTop drives the real program at a terminal: it opens, filters, opens a todo, retries a group, is
// resized, quits, and is killed; the terminal is as it was each time.
func TestTop(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	deadTodos(t, c, conn, 9)
	c.ok("enqueue", "-q", "billing", "--title", "hostile \x1b[31m", "1")
	c.ok("claim", "-q", "billing", "--ttl", "1h")
	s := c.openScreen()
	s.press("todoctl top", "Enter")
	s.until("[1 queues]")
	s.until("mail")
	s.press("/", "b", "i", "l", "l", "Enter")
	s.until(`1 rows with "bill"`)
	if strings.Contains(s.shown(), "mail") {
		t.Errorf("the filter let mail through:\n%s", s.shown())
	}
	s.press("Enter")
	s.until("queue billing")
	s.until(`hostile \x1b[31m`)
	s.press("Enter")
	s.until("lease ends")
	s.press("Escape") // the next key must come by itself: right behind an escape it is that key with Alt
	waitUntil(t, "the list again", func() bool { return !strings.Contains(s.shown(), "lease ends") })
	s.until("queue billing")
	s.press("2")
	s.until("[2 leases]")
	s.until("billing")
	s.press("?")
	s.until("retry a group of dead letters, after asking")
	s.tmux("resize-window", "-x", "120", "-y", "40")
	s.press("3")
	s.until("a41f")
	waitUntil(t, "the new size", func() bool {
		lines := strings.Split(s.shown(), "\n")
		return len(lines) == 40 && strings.HasPrefix(lines[39], "? keys")
	})
	s.press("r")
	s.until("retry 9 dead letters of a41f? [y/N]")
	s.press("n")
	s.until("nothing was changed")
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state = 'failed'"); n != 9 {
		t.Fatalf("%d dead letters are left", n)
	}
	s.press("r", "y")
	s.until("retried 9 of 9")
	if got := c.ok("journal", "--jq", ".[0] | [.verb, .changed, .filter.fingerprint[0]] | tojson"); got != `["retry",9,"a41f"]` {
		t.Errorf("the journal: %s", got)
	}
	s.press("q")
	s.sane()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		s.press(`sh -c 'echo $$ >pid; exec todoctl top'; echo status $?`, "Enter")
		s.until("[1 queues]")
		s.until("mail")
		s.press("3") // it is up and reads keys
		s.until("[3 dead letters]")
		text, err := os.ReadFile(filepath.Join(c.dir, "pid"))
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, sig); err != nil {
			t.Fatal(err)
		}
		s.until("status 0")
		s.sane()
	}
}

// TestTopNeedsATerminal refuses where there is none, and shows no color where that is not wanted.
func TestTopNeedsATerminal(t *testing.T) {
	t.Parallel()
	c, _, _ := withDB(t)
	r := c.fails(2, "top")
	if !strings.Contains(r.err, "top needs a terminal") || !strings.Contains(r.err, "todoctl queues") || !strings.Contains(r.err, "todoctl tail") || r.out != "" {
		t.Errorf("%q %q", r.out, r.err)
	}
	if r := c.with("TERM=dumb").tty(80, "top"); r.code != 2 || strings.Contains(r.out, "\x1b") {
		t.Errorf("a dumb terminal: exit %d %q", r.code, r.out)
	}
	if r := c.tty(80, "version"); strings.Contains(r.out, "\x1b[?") || strings.Contains(r.out, "\x1b]") || strings.Contains(r.out, "\x1b[c") {
		t.Errorf("version asks the terminal: %q", r.out)
	}
}

// TestTopHonoursNoColor looks at what reaches the terminal.
func TestTopHonoursNoColor(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	deadTodos(t, c, conn, 3)
	for _, x := range []struct {
		env   string
		color bool
	}{{"NO_COLOR=1", false}, {"COLORTERM=truecolor", true}} {
		s := c.with("TERM=xterm-256color", x.env).sit("top")
		s.until("mail")
		for _, keys := range []string{"3", "\r"} {
			if _, err := s.primary.WriteString(keys); err != nil {
				t.Fatal(err)
			}
			s.until(map[string]string{"3": "a41f", "\r": "td_3"}[keys])
		}
		s.answer("q", "exit status 0")
		if got := strings.Contains(s.shown, "\x1b[31m"); got != x.color {
			t.Errorf("%s: color %v, want %v", x.env, got, x.color)
		}
	}
}

// TestTopAsksByNameInProduction retries a group only when the name of the profile was typed.
func TestTopAsksByNameInProduction(t *testing.T) {
	t.Parallel()
	c, conn := production(t)
	deadTodos(t, c, conn, 2)
	s := c.openScreen()
	s.press("todoctl top", "Enter")
	s.until("profile prod")
	s.press("3")
	s.until("a41f")
	s.press("r", "y", "Enter")
	s.until("nothing was changed")
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state = 'failed'"); n != 2 {
		t.Fatalf("%d dead letters are left", n)
	}
	s.press("r", "prod")
	s.until("type prod to retry 2 of a41f: prod")
	s.press("Enter")
	s.until("retried 2 of 2")
	s.press("q")
	s.sane()
}
