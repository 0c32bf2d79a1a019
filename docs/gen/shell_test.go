package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/todoctl/todoctl/cmd"
	"github.com/todoctl/todoctl/pkg/pgtest"
)

// TestMain puts a todoctl on the PATH that is this test binary.
func TestMain(m *testing.M) {
	testscript.Main(withServer{m}, map[string]func(){
		"todoctl": func() {
			os.Exit(cmd.Main(os.Args[1:], cmd.OSStreams(), os.Environ(), cmd.VersionInfo{Version: "test"}))
		},
	})
}

type withServer struct{ m *testing.M }

func (w withServer) Run() int { return pgtest.Main(w.m) }

// shell is a home directory and a database of a test's own.
type shell struct {
	t   *testing.T
	env []string
}

func newShell(t *testing.T, database string) shell {
	t.Helper()
	home := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C.UTF-8"}
	if database != "" {
		env = append(env, "TODOCTL_DATABASE_URL="+database)
	}
	return shell{t, env}
}

func (s shell) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Env, c.Dir = s.env, s.home()
	return c
}

func (s shell) home() string { return strings.TrimPrefix(s.env[1], "HOME=") }

// run returns what a command prints, and fails the test when it fails.
func (s shell) run(name string, args ...string) string {
	s.t.Helper()
	out, err := s.command(name, args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// Every line of the completion set-up in the install guide is run, and the shell then completes.
func TestCompletionSetUp(t *testing.T) {
	page := read(t, "docs/guide/install.md")
	after := func(label string) string {
		_, rest, ok := strings.Cut(page, "\n"+label)
		if !ok {
			t.Fatalf("the install guide does not speak of %q", label)
		}
		return blocks(rest, "sh")[0]
	}
	t.Run("bash", func(t *testing.T) {
		s := newShell(t, "")
		s.run("sh", "-ec", after("bash, with"))
		file := filepath.Join(s.home(), ".local/share/bash-completion/completions/todoctl")
		if out := s.run("bash", "--norc", "-ec", "source "+file+"; complete -p todoctl"); !strings.Contains(out, "__start_todoctl") {
			t.Errorf("complete -p: %s", out)
		}
	})
	t.Run("zsh", func(t *testing.T) {
		s := newShell(t, "")
		s.run("sh", "-ec", after("zsh:"))
		rc := strings.ReplaceAll(after("and in `~/.zshrc`"), "compinit && compinit", "compinit && compinit -u")
		if out := s.run("zsh", "-fec", rc+"print $_comps[todoctl]"); strings.TrimSpace(out) != "_todoctl" {
			t.Errorf("zsh completes todoctl by %q", out)
		}
	})
	t.Run("fish", func(t *testing.T) {
		s := newShell(t, "")
		s.run("sh", "-ec", after("fish:"))
		if out := s.run("fish", "-c", "complete -C 'todoctl comp'"); !strings.Contains(out, "complete\t") || !strings.Contains(out, "completion\t") {
			t.Errorf("fish offers %q", out)
		}
	})
	t.Run("powershell", func(t *testing.T) {
		if out := newShell(t, "").run("todoctl", "completion", "powershell"); !strings.Contains(out, "Register-ArgumentCompleter") {
			t.Errorf("not a completion script: %.200s", out)
		}
	})
}

// The lines of the README do what they say. The server is the test's, not the user's own.
func TestReadmeSixtySeconds(t *testing.T) {
	script := blocks(read(t, "README.md"), "sh")[0]
	rest, found := strings.CutPrefix(script, "todoctl local start\n")
	if !found {
		t.Fatalf("the README begins otherwise:\n%s", script)
	}
	for _, sh := range []string{"dash", "bash"} {
		out := newShell(t, pgtest.Database(t)).run(sh, "-eu", "-c", rest)
		if ids := regexp.MustCompile(`td_[0-9a-f-]{36}`).FindAllString(out, 2); len(ids) != 2 || ids[0] != ids[1] {
			t.Errorf("%s: the second enqueue made another todo: %q", sh, ids)
		}
		if !strings.Contains(out, "done") {
			t.Errorf("%s: the todo is not done:\n%s", sh, out)
		}
	}
}

// The command of each scheduler's example puts a lapsed todo back, in the bare environment that
// schedulers give.
func TestReapExamples(t *testing.T) {
	for name, pattern := range map[string]string{
		"todoctl-reap.service":  `(?m)^ExecStart=/usr/bin/(todoctl .*)$`,
		"todoctl-reap.cron":     `(?m)^\* \* \* \* \* todoctl /usr/bin/(todoctl .*)$`,
		"todoctl-reap.k8s.yaml": `(?m)^\s+args: \[(.*)\]`,
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.Database(t)
			s := newShell(t, "")
			file := filepath.Join(s.home(), "url")
			if err := os.WriteFile(file, []byte(url+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			asked := newShell(t, url)
			id := strings.TrimSpace(asked.run("todoctl", "enqueue", "-q", "q"))
			asked.run("todoctl", "claim", "-q", "q", "--quiet")
			// The lease is over without waiting for it.
			if _, err := pgtest.Connect(t, url).Exec(t.Context(), "UPDATE todos SET lease_expires_at = now() - interval '1 s'"); err != nil {
				t.Fatal(err)
			}
			line := matches(t, "docs/examples/"+name, pattern)[0]
			line = strings.ReplaceAll(strings.TrimPrefix(line, "todoctl "), ", ", " ")
			line = regexp.MustCompile(`/etc/todoctl/database-url|%d/db|/run/secrets/todoctl/url`).ReplaceAllLiteralString(line, file)
			path, err := exec.LookPath("todoctl")
			if err != nil {
				t.Fatal(err)
			}
			c := exec.Command(path, strings.Fields(line)...)
			c.Env = []string{}
			if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
				t.Fatalf("todoctl %s: %v\n%s", line, err, out)
			}
			if got := asked.run("todoctl", "show", id, "--fields", "condition", "-o", "tsv"); strings.TrimSpace(got) != "pending" {
				t.Errorf("the todo is %s", got)
			}
		})
	}
}

// The example worker completes, fails and buries by its handler's exit code, and ends in order.
func TestExampleWorker(t *testing.T) {
	s := newShell(t, pgtest.Database(t))
	handler := filepath.Join(s.home(), "handler.sh")
	if err := os.WriteFile(handler, []byte("#!/bin/sh\ncat >>seen\necho \" $TODO_KIND\" >>seen\nexit \"$TODO_KIND\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	script, err := filepath.Abs(filepath.Join(root, "docs/examples/worker.sh"))
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range []string{"0", "65", "1"} {
		s.run("todoctl", "enqueue", `{"n":1}`, "-q", "q", "--kind", code)
	}
	worker := s.command("sh", script, "q", "./handler.sh")
	worker.Stdout, worker.Stderr = os.Stdout, os.Stderr
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	states := func() string {
		return s.run("todoctl", "list", "--state", "all", "--fields", "kind,condition", "-o", "jsonl", "--jq", `.kind + " " + .condition`)
	}
	for deadline := time.Now().Add(time.Minute); strings.Contains(states(), "pending") || strings.Contains(states(), "claimed"); {
		if time.Now().After(deadline) {
			t.Fatalf("not worked:\n%s", states())
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err := worker.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := worker.Wait(); err != nil {
		t.Errorf("the worker ended with %v", err)
	}
	got := states()
	for _, want := range []string{"0 done", "65 dead", "1 retrying"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not among\n%s", want, got)
		}
	}
	seen, err := os.ReadFile(filepath.Join(s.home(), "seen"))
	if err != nil || strings.Count(string(seen), `{"n":1}`) != 3 {
		t.Errorf("the handler saw %q, %v", seen, err)
	}
}
