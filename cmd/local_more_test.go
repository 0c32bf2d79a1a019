//go:build unix

package cmd_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func TestLocalSchema(t *testing.T) {
	c := newLocalCLI(t).with(`TODOCTL_SCHEMA=my "work"`)
	c.local(0, "start")
	c.ok("enqueue", "-q", "mail", "1")
	for sql, want := range map[string]string{
		"SELECT current_schema()":    `my "work"`,
		"SELECT count(*) FROM todos": "1",
		"SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace": "0",
	} {
		if got := c.ok("local", "psql", "--", "-XAtc", sql); got != want {
			t.Errorf("%s: %q, want %q", sql, got, want)
		}
	}
}

// psql is what the process becomes: arguments, input and exit status are its own, and nothing in
// the environment leads it elsewhere.
func TestLocalPsql(t *testing.T) {
	c := newLocalCLI(t)
	says(t, c.fails(8, "local", "psql"), "does not run", "todoctl local start")
	c.local(0, "start")
	if r := c.pipe("SELECT 40 + 2;\n\\q\n", "local", "psql", "--", "-XAt"); r.out != "42\n" || r.code != 0 {
		t.Errorf("from stdin: exit %d, %q %q", r.code, r.out, r.err)
	}
	if r := c.run("local", "psql", "--", "-XAtc", "nonsense"); r.code != 1 || !strings.Contains(r.err, "syntax error") {
		t.Errorf("a failing statement: exit %d %q", r.code, r.err)
	}
	hostile := c.with("PGSERVICE=nosuch", "PGHOST=elsewhere.invalid", "PGHOSTADDR=192.0.2.1", "PGUSER=nobody", "PGOPTIONS=-c nonsense=1", "PGTZ=UTC")
	if got := hostile.ok("local", "psql", "--", "-XAtc", "SELECT current_user"); got != "postgres" {
		t.Errorf("connected as %q", got)
	}
}

func TestLocalWithoutPsql(t *testing.T) {
	c := newLocalCLI(t)
	c.local(0, "start")
	// A server package of the same version without the client, and no PATH.
	version := *c.local(0, "status").Version
	bin := fakeServer(t, version+".0", "exit 1")
	bare := c.with("TODOCTL_PG_BIN=" + bin)
	todoctl := strings.TrimSpace(c.sh("sh", "command -v todoctl").out)
	bare.env = append(bare.env, "PATH=/nonexistent")
	r := bare.exec("", todoctl, "local", "psql")
	if r.code != 8 {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	says(t, r, "psql is not installed", "todoctl local url")
}

// fakeServer makes a directory of binaries that say this version and run body otherwise.
func fakeServer(t *testing.T, version, body string) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "todoctl-test-bin-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil { // under root another user runs them, and leaves a file
		t.Fatal(err)
	}
	script := "#!/bin/sh\n[ \"$1\" != --version ] || { echo 'postgres (PostgreSQL) " + version + "'; exit 0; }\n" + body + "\n"
	for _, name := range []string{"postgres", "initdb"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestLocalStartFailureShowsTheLog(t *testing.T) {
	c := newLocalCLI(t)
	a := c.local(0, "start")
	c.local(0, "stop")
	bin := fakeServer(t, *a.Version+".0", `echo "LOG:  starting" >&2; printf 'FATAL:  the disk is made of cheese \033[31m\n' >&2; exit 1`)
	r := c.fails(8, "local", "start", "--pg-bin", bin)
	says(t, r, "log: LOG:  starting", "todoctl: the local server did not start: the disk is made of cheese", "hint: ", a.Log)
	if strings.Contains(r.err, "\x1b") {
		t.Errorf("a control character reached the terminal: %q", r.err)
	}
	r = c.fails(8, "local", "start", "--pg-bin", bin, "-o", "json")
	e := decode[struct {
		Error struct {
			Code string   `json:"code"`
			Log  []string `json:"log"`
		} `json:"error"`
	}](t, r.err)
	if e.Error.Code != "unavailable" || len(e.Error.Log) != 2 {
		t.Errorf("as JSON: %s", r.err)
	}
	c.local(0, "start") // nothing was lost
}

// Ctrl-C while the data directory is being made ends what was started, and leaves no half of it.
func TestLocalStartInterrupted(t *testing.T) {
	c := newLocalCLI(t)
	bin := fakeServer(t, "15.7", `echo $$ >"${0%/*}/part"; mv "${0%/*}/part" "${0%/*}/pid"; exec sleep 1000`)
	p := c.start("todoctl", "local", "start", "--pg-bin", bin)
	var text []byte
	waitUntil(t, "initdb", func() bool {
		var err error
		text, err = os.ReadFile(filepath.Join(bin, "pid"))
		return err == nil
	})
	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	<-p.done
	if !errors.As(p.failed, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
		t.Errorf("ended with %v: %s", p.failed, p.errs.String())
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the end of initdb", func() bool { return syscall.Kill(pid, 0) != nil })
	left, err := os.ReadDir(filepath.Join(c.dir, "state", "todoctl", "pg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if e.IsDir() {
			t.Errorf("%s was left", e.Name())
		}
	}
	c.local(0, "start")
}

func TestLocalDataOfAnotherMajorVersion(t *testing.T) {
	c := newLocalCLI(t)
	data := filepath.Join(c.dir, "state", "todoctl", "pg", "default")
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("9.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := c.fails(8, "local", "start", "--pg-bin", fakeServer(t, "15.7", "exit 1"))
	says(t, r, "PostgreSQL 9.1", "PostgreSQL 15.7", "nothing was changed")
	if a := c.local(8, "status"); a.Version == nil || *a.Version != "9.1" {
		t.Errorf("status: %+v", a)
	}
	left, err := os.ReadDir(data)
	if err != nil || len(left) != 1 {
		t.Errorf("the data directory was changed: %v %v", left, err)
	}
}

// Text, table and other forms of the answers.
func TestLocalForms(t *testing.T) {
	c := newLocalCLI(t)
	a := c.local(0, "start")
	if got := c.ok("local", "status"); !strings.HasPrefix(got, "running\t"+*a.URL+"\t") {
		t.Errorf("off a terminal: %q", got)
	}
	if got := c.ok("local", "status", "--fields", "state,data_dir", "-o", "csv"); got != "state,data_dir\nrunning,"+a.DataDir {
		t.Errorf("csv: %q", got)
	}
	if got := c.ok("local", "url", "-o", "json"); got != `{"url":"`+*a.URL+`"}` {
		t.Errorf("url as JSON: %q", got)
	}
	if got := c.ok("local", "url", "--quiet"); got != *a.URL {
		t.Errorf("a quiet url: %q", got)
	}
	if got := c.ok("local", "stop", "--quiet"); got != "" {
		t.Errorf("a quiet stop: %q", got)
	}
}
