package cmd_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

// mute is a database that takes connections, counts them, and never says a word.
func mute(t *testing.T) (url string, asked *atomic.Int32) {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked = new(atomic.Int32)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var open []net.Conn
		for {
			conn, err := l.Accept()
			if err != nil {
				for _, c := range open {
					_ = c.Close()
				}
				return
			}
			open = append(open, conn)
			asked.Add(1)
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return "postgres://u@" + l.Addr().String() + "/x?sslmode=disable", asked
}

// The case's address is not on this machine; a server that never answers is as bad, and can be counted on.
func TestCaseC144CompletionStaysClean(t *testing.T) {
	t.Parallel()
	url, asked := mute(t)
	c := newCLIOn(t, url)
	broken := c.with("TODOCTL_CONFIG=" + c.file("broken.yaml", "queue: [\n"))
	for i, c := range []*cli{c, broken} {
		for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
			r := c.run("completion", shell)
			if r.code != 0 || r.err != "" {
				t.Errorf("%s: exit %d, stderr %q", shell, r.code, r.err)
			}
			if path, err := exec.LookPath(shell); err == nil && i == 0 {
				if check := c.exec(r.out, path, "-n"); check.code != 0 || check.err != "" {
					t.Errorf("%s does not parse: %s", shell, check.err)
				}
			} else {
				holds(t, r.out, "todoctl")
			}
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the scripts asked the database %d times", n)
	}
	for i, c := range []*cli{c, broken} {
		r := c.run("__complete", "claim", "--queue", "")
		if r.code != 0 || r.out != ":4\n" {
			t.Errorf("%d: exit %d, stdout %q", i, r.code, r.out)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the database was asked %d times; the broken file should not have led there", n)
	}
	for _, words := range []string{"claim --ou", "--", "enqueue -"} { // flags need no database
		args := append([]string{"__complete"}, strings.Fields(words)...)
		if r := c.run(args...); r.code != 0 || !strings.Contains(r.out, "--output") && !strings.Contains(r.out, "--queue") {
			t.Errorf("%s: exit %d, stdout %q", words, r.code, r.out)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("flags asked the database")
	}
}

// That the program builds for Windows and macOS is a step of .ci/run.
func TestCaseC145BareEnvironment(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("todoctl")
	if err != nil {
		t.Fatal(err)
	}
	url := pgtest.Database(t)
	dir := t.TempDir()
	run := func(env []string, args ...string) outcome {
		t.Helper()
		c := &cli{t: t, dir: dir, env: env}
		return c.exec("", append([]string{path}, args...)...)
	}
	if r := run([]string{}, "--version"); r.code != 0 || !strings.HasPrefix(r.out, "todoctl ") || r.err != "" {
		t.Errorf("--version: exit %d, %q, %q", r.code, r.out, r.err)
	}
	named := "TODOCTL_DATABASE_URL=" + url
	for _, env := range [][]string{{named}, {named, "HOME="}, {named, "HOME=/nonexistent"}, {named, "HOME=/dev/null", "XDG_CONFIG_HOME=/dev/null/x"}} {
		if r := run(env, "enqueue", "-q", "q", "-o", "json", "--jq", ".created"); r.code != 0 || r.out != "true\n" || r.err != "" {
			t.Errorf("%q: exit %d, %q, %q", env[1:], r.code, r.out, r.err)
		}
	}
	// Without a database the answer is the same with and without a home.
	if r := run([]string{}, "list"); r.code != 2 {
		t.Errorf("no database: exit %d, %q", r.code, r.err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if _, err := os.Stat(filepath.FromSlash("/.config/todoctl")); err == nil {
		t.Error("/.config/todoctl is there")
	}
}

// Here a name that no queue can have is refused wherever it stands, with the rule; * is no wildcard.
func TestCaseC147NamesLikeFlags(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	const rule = "a queue name is 1 to 128 of A-Z a-z 0-9 . _ : / - and does not begin with a dash"
	for _, name := range []string{"-x", "a b", "*", "a\tb", "ä"} {
		for _, verb := range []string{"enqueue", "list", "claim", "reap"} {
			if verb != "enqueue" && name != "*" {
				continue
			}
			holds(t, c.fails(2, verb, "--queue="+name).err, "--queue", rule)
		}
	}
	holds(t, c.fails(2, "enqueue", "--queue", "-x").err, rule)
	holds(t, c.fails(2, "enqueue", "--queue", "").err, "--queue", "empty")
	holds(t, c.fails(2, "list", "--queue", "").err, "--queue", "empty")
	for _, name := range []string{"a/b", "a.b:c_d-e", "0"} {
		c.ok("enqueue", "--queue", name, "--quiet")
	}
	if got := c.ok("queues", "--fields", "queue", "-o", "tsv"); got != "0\na.b:c_d-e\na/b" {
		t.Errorf("queues %q", got)
	}
	holds(t, c.fails(5, "show", "--", "-td").err, "no todo -td")
	c.fails(2, "show", "-td")
	c.fails(2, "show", "")
	// What follows -- are a command's own words, whatever they look like.
	if r := c.run("work", "-q", "0", "--drain", "--", "sh", "-c", `echo "[$*]"`, "sh", "--queue", "-x", "*"); r.code != 0 || !strings.Contains(r.err, "[--queue -x *]\n") {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
}
