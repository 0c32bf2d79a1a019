package cmd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/todoctl/todoctl/cmd"
	"github.com/todoctl/todoctl/pkg/pgtest"
)

// TestMain lets this test binary be todoctl as well: testscript puts a copy of it on the PATH under
// that name, so that scripts, shells and xargs run the real program as a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){
		"todoctl": func() {
			os.Exit(cmd.Main(os.Args[1:], cmd.OSStreams(), os.Environ(), cmd.VersionInfo{Version: "test"}))
		},
		"lines-child": func() { os.Exit(linesChild(os.Stdin, os.NewFile(3, "answers"), os.Stdout)) },
	})
}

type suite struct{ m *testing.M }

// Run runs the tests beside a PostgreSQL of their own, and beside the program as it is released: a
// process with the race detector in it takes several times as long to start, and most tests start
// many. Those of the commands that run goroutines keep the race detector (see path).
func (s suite) Run() int {
	dir, err := os.MkdirTemp("", "todoctl-test-bin")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "todoctl"), "-ldflags", "-X main.version=test", "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n%s", err, out)
		return 1
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Setenv(releasedDir, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return pgtest.Main(s.m)
}

// releasedDir is the variable that names the folder of the program as it is released.
const releasedDir = "TODOCTL_TEST_RELEASED"

// path is the PATH of a test: the program with the race detector for the commands that run
// goroutines, the released one for the others.
func path(t *testing.T) string {
	for _, prefix := range []string{"TestWork", "TestWait", "TestClaimWait", "TestReapEvery", "TestShadow", "TestTop"} {
		if strings.HasPrefix(t.Name(), prefix) {
			return "PATH=" + os.Getenv("PATH")
		}
	}
	return "PATH=" + os.Getenv(releasedDir) + string(os.PathListSeparator) + os.Getenv("PATH")
}

// cli runs todoctl, and shells that run it, against one database.
type cli struct {
	t   *testing.T
	dir string // working directory and HOME
	env []string
}

// quickExit keeps the race detector from sleeping for a second at the end of each process that a test
// starts, which it does to hear out goroutines that a command line tool does not leave behind.
const quickExit = "GORACE=atexit_sleep_ms=0"

// outcome is how a process ended.
type outcome struct {
	out, err string
	code     int
}

// newCLI returns a cli over a fresh, migrated database.
func newCLI(t *testing.T) *cli { return newCLIOn(t, pgtest.Database(t)) }

// newCLIOn returns a cli over the database with this URL.
func newCLIOn(t *testing.T, url string) *cli {
	t.Helper()
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.yaml")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return &cli{t: t, dir: dir, env: []string{path(t), quickExit, "HOME=" + dir, "TODOCTL_DATABASE_URL=" + url,
		"TODOCTL_CONFIG=" + empty, "TODOCTL_OWNER=w"}}
}

// with returns a copy whose environment has these variables too.
func (c *cli) with(env ...string) *cli {
	d := *c
	d.env = append(append([]string{}, c.env...), env...)
	return &d
}

// run runs todoctl with these arguments and no standard input.
func (c *cli) run(args ...string) outcome { return c.pipe("", args...) }

// pipe runs todoctl with in on its standard input.
func (c *cli) pipe(in string, args ...string) outcome {
	c.t.Helper()
	return c.exec(in, append([]string{"todoctl"}, args...)...)
}

// sh runs a script in the given shell.
func (c *cli) sh(shell, script string) outcome {
	c.t.Helper()
	return c.exec("", shell, "-c", script)
}

// find looks a program up in the PATH of the cli, where exec.Command would take that of the test.
func (c *cli) find(name string) string {
	for _, kv := range c.env {
		dirs, ok := strings.CutPrefix(kv, "PATH=")
		if !ok || strings.Contains(name, "/") {
			continue
		}
		for _, dir := range filepath.SplitList(dirs) {
			if full := filepath.Join(dir, name); isProgram(full) {
				return full
			}
		}
	}
	return name
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func (c *cli) exec(in string, argv ...string) outcome {
	c.t.Helper()
	p := exec.Command(c.find(argv[0]), argv[1:]...)
	var out, errs bytes.Buffer
	p.Dir, p.Env, p.Stdin, p.Stdout, p.Stderr = c.dir, c.env, strings.NewReader(in), &out, &errs
	err := p.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatalf("%v: %v", argv, err)
	}
	return outcome{out.String(), errs.String(), p.ProcessState.ExitCode()}
}

// ok runs todoctl and requires that it ends well; it returns what it printed, without the last newline.
func (c *cli) ok(args ...string) string {
	c.t.Helper()
	r := c.run(args...)
	if r.code != 0 {
		c.t.Fatalf("todoctl %s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.err)
	}
	return strings.TrimSuffix(r.out, "\n")
}

// fails runs todoctl and requires this exit status.
func (c *cli) fails(code int, args ...string) outcome {
	c.t.Helper()
	r := c.run(args...)
	if r.code != code {
		c.t.Fatalf("todoctl %s: exit %d, want %d\n%s%s", strings.Join(args, " "), r.code, code, r.out, r.err)
	}
	return r
}

// decode reads one JSON value, numbers as they are written.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}
