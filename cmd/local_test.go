//go:build unix

package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

// newLocalCLI returns a cli to which no database is named, with room for a local server of its own.
func newLocalCLI(t *testing.T) *cli {
	t.Helper()
	dir := pgtest.Dir(t)
	empty := filepath.Join(dir, "empty.yaml")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return &cli{t: t, dir: dir, env: []string{path(t), quickExit, "HOME=" + dir, "TODOCTL_CONFIG=" + empty,
		"TODOCTL_OWNER=w", "XDG_STATE_HOME=" + filepath.Join(dir, "state"), "XDG_RUNTIME_DIR=" + filepath.Join(dir, "run")}}
}

type localAnswer struct {
	State   string   `json:"state"`
	URL     *string  `json:"url"`
	PID     *int     `json:"pid"`
	Version *string  `json:"version"`
	DataDir string   `json:"data_dir"`
	Log     string   `json:"log"`
	Changed bool     `json:"changed"`
	Applied []string `json:"applied"`
}

func (c *cli) local(code int, args ...string) localAnswer {
	c.t.Helper()
	return decode[localAnswer](c.t, c.fails(code, append([]string{"local", "-o", "json"}, args...)...).out)
}

// says requires words of what a process wrote to stderr.
func says(t *testing.T, r outcome, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(r.err, w) {
			t.Errorf("stderr does not say %q:\n%s", w, r.err)
		}
	}
}

func TestLocalFromStartToStop(t *testing.T) {
	c := newLocalCLI(t)
	says(t, c.fails(2, "queues"), "no database is named", "todoctl local start")
	if a := c.local(8, "status"); a.State != "stopped" || a.PID != nil || a.URL != nil {
		t.Errorf("before the start: %+v", a)
	}
	says(t, c.fails(8, "local", "url"), "does not run", "todoctl local start")

	first := c.local(0, "start")
	if first.State != "running" || !first.Changed || len(first.Applied) == 0 || first.PID == nil || first.URL == nil {
		t.Fatalf("start: %+v", first)
	}
	if again := c.local(0, "start"); again.Changed || len(again.Applied) != 0 || *again.PID != *first.PID {
		t.Errorf("second start: %+v", again)
	}
	if st := c.local(0, "status"); st.State != "running" || *st.PID != *first.PID || *st.URL != *first.URL {
		t.Errorf("status: %+v", st)
	}
	if got := c.ok("local", "url"); got != *first.URL {
		t.Errorf("url prints %s", got)
	}
	// Every other command finds it without being told.
	id := c.ok("enqueue", "-q", "mail", "--key", "k", "1")
	if got := c.ok("local", "psql", "--", "-XAtc", "SELECT id FROM todos"); got != id {
		t.Errorf("psql sees %q, enqueued was %q", got, id)
	}

	if a := c.local(0, "stop"); a.State != "stopped" || !a.Changed {
		t.Errorf("stop: %+v", a)
	}
	if a := c.local(0, "stop"); a.State != "stopped" || a.Changed {
		t.Errorf("second stop: %+v", a)
	}
	says(t, c.fails(2, "queues"), "no database is named")
	c.local(0, "start")
	if got := c.ok("list", "-o", "id"); got != id {
		t.Errorf("after a restart there is %q, want %q", got, id)
	}
	c.local(0, "stop")
}

func TestLocalAfterCrash(t *testing.T) {
	c := newLocalCLI(t)
	pid := *c.local(0, "start").PID
	id := c.ok("enqueue", "-q", "mail", "1")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the end of a killed server", func() bool { return c.run("local", "status").code == 8 })
	a := c.local(0, "start")
	if !a.Changed || *a.PID == pid {
		t.Errorf("start after a crash: %+v", a)
	}
	if got := c.ok("list", "-o", "id"); got != id {
		t.Errorf("after the crash there is %q, want %q", got, id)
	}
	c.local(0, "stop")
}

func TestLocalStartsMeetInOneServer(t *testing.T) {
	c := newLocalCLI(t)
	var wg sync.WaitGroup
	out := make([]outcome, 4)
	for i := range out {
		wg.Go(func() { out[i] = c.run("local", "start", "-o", "json", "--jq", ".pid") })
	}
	wg.Wait()
	for _, r := range out {
		if r.code != 0 || r.out != out[0].out {
			t.Errorf("exit %d, pid %s, the first has %s\n%s", r.code, r.out, out[0].out, r.err)
		}
	}
}

func TestLocalEnvInShells(t *testing.T) {
	c := newLocalCLI(t)
	script := `TODOCTL_DATABASE_URL=before; eval "$(todoctl local env)"; echo "$? $TODOCTL_DATABASE_URL"`
	for _, shell := range []string{"sh", "bash", "dash"} {
		if r := c.sh(shell, script); r.out != "8 before\n" {
			t.Errorf("%s, without a server: %q\n%s", shell, r.out, r.err)
		}
	}
	url := *c.local(0, "start").URL
	for _, shell := range []string{"sh", "bash", "dash"} {
		if r := c.sh(shell, script); r.out != "0 "+url+"\n" {
			t.Errorf("%s: %q\n%s", shell, r.out, r.err)
		}
	}
	// What it sets is the one database that is named, whatever was named before.
	r := c.with("TODOCTL_DATABASE_URL_FILE=/nonexistent", "DATABASE_URL=postgres://elsewhere.invalid/x").
		sh("sh", `eval "$(todoctl local env)"; todoctl enqueue -q q 1 && todoctl local start`)
	if r.code != 0 || r.err != "" {
		t.Errorf("exit %d: %s%s", r.code, r.out, r.err)
	}
}

func TestLocalStartSaysWhatOutranksIt(t *testing.T) {
	c := newLocalCLI(t)
	if r := c.run("local", "start"); r.code != 0 || r.err != "" {
		t.Fatalf("exit %d: %s", r.code, r.err)
	}
	profile := filepath.Join(c.dir, "profile.yaml")
	text := "default_profile: prod\nprofiles:\n  - name: prod\n    database_url: postgres://prod.invalid/work\n"
	if err := os.WriteFile(profile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, env := range map[string][]string{
		"TODOCTL_DATABASE_URL": {"TODOCTL_DATABASE_URL=postgres://u:s3cret@elsewhere.invalid/x"},
		"DATABASE_URL":         {"DATABASE_URL=postgres://u:s3cret@elsewhere.invalid/x"},
		"PGHOST":               {"PGHOST=elsewhere.invalid"},
		"profile prod":         {"TODOCTL_CONFIG=" + profile},
		"two databases":        {"TODOCTL_CONFIG=" + profile, "DATABASE_URL=postgres://elsewhere.invalid/x"},
	} {
		r := c.with(env...).run("local", "start")
		if r.code != 0 {
			t.Errorf("%s: exit %d: %s", name, r.code, r.err)
		}
		says(t, r, "warning: ", name)
		if strings.Contains(r.out+r.err, "s3cret") {
			t.Errorf("%s: a secret is shown: %s", name, r.err)
		}
	}
	r := c.with("DATABASE_URL=postgres://elsewhere.invalid/x").run("local", "start", "-o", "json")
	if w := decode[map[string]any](t, r.err); w["warning"] == nil {
		t.Errorf("with -o json: %s", r.err)
	}
	r = c.with("DATABASE_URL=postgres://elsewhere.invalid/x").run("local", "start", "--quiet")
	if r.out+r.err != "" || r.code != 0 {
		t.Errorf("--quiet: exit %d: %s%s", r.code, r.out, r.err)
	}
}

func TestLocalUsage(t *testing.T) {
	c := newLocalCLI(t)
	for _, args := range [][]string{
		{}, {"bogus"}, {"start", "extra"}, {"status", "extra"},
		{"start", "--database-url", "postgres://h/x"}, {"status", "--database-url-file", "/f"}, {"stop", "--profile", "p"},
		{"start", "--pg-bin", ""}, {"start", "--pg-bin", "/nonexistent"}, {"start", "-o", "receipt"}, {"start", "--fields", "nope"},
	} {
		c.fails(2, append([]string{"local"}, args...)...)
	}
	says(t, c.with("TODOCTL_PG_BIN=/nonexistent").fails(2, "local", "start"), "TODOCTL_PG_BIN", "/nonexistent")
	says(t, c.with("XDG_STATE_HOME=state").fails(2, "local", "start"), "XDG_STATE_HOME")
	if _, err := os.Stat(filepath.Join(c.dir, "state", "todoctl", "pg", "default")); !os.IsNotExist(err) {
		t.Errorf("something was made all the same: %v", err)
	}
}
