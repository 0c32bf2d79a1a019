//go:build unix

package localpg

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{
		{},
		{DataDir: "relative"},
		{DataDir: "/tmp/a\nb"},
		{DataDir: "/tmp/a", SocketDir: "s"},
		{DataDir: "/tmp/a", SocketDir: "/tmp/\x00"},
		{DataDir: "/tmp/a", SocketDir: "/tmp/a,b"}, // two hosts, to libpq
	} {
		_, err := Start(context.Background(), o)
		wantError(t, err, todo.CodeUsage)
		_, err = Attach(context.Background(), o)
		wantError(t, err, todo.CodeUsage)
	}
}

func TestURLIsReadBack(t *testing.T) {
	for _, dir := range []string{"/run/todoctl", "/a b/c+d", "/ü%41&x=y", "/q?#'\""} {
		cfg, err := pgx.ParseConfig(socketURL(dir, "my db/?#"))
		if err != nil {
			t.Errorf("%q: %v", dir, err)
			continue
		}
		if cfg.Host != dir || cfg.Database != "my db/?#" || cfg.User != Superuser || cfg.Port != 5432 {
			t.Errorf("%q came back as host %q, database %q, user %q, port %d",
				dir, cfg.Host, cfg.Database, cfg.User, cfg.Port)
		}
	}
}

func TestSettingsOfTestsAreNotThoseOfUsers(t *testing.T) {
	durable := strings.Join(Options{Durable: true}.settings("/s"), " ")
	for _, word := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		if strings.Contains(durable, word) {
			t.Errorf("a durable server is started with %s: %s", word, durable)
		}
	}
	if !strings.Contains(durable, "--listen_addresses= ") {
		t.Errorf("a server opens a port: %s", durable)
	}
	tuned := strings.Join(Options{Settings: map[string]string{"fsync": "on", "work_mem": "8MB"}}.settings("/s"), " ")
	if !strings.Contains(tuned, "--fsync=on") || !strings.Contains(tuned, "--work_mem=8MB") || strings.Contains(tuned, "fsync=off") {
		t.Errorf("given settings do not win: %s", tuned)
	}
}

func TestPidFile(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{"", false},
		{"nonsense\n", false},
		{"-12\n/data\n", false}, // single-user mode
		{"0\n/data\n", false},
		{"12", true}, // just being written
		{"12\n/data\n1700000000\n5432\n/run/x\n\n  1 2\nready   \n", true},
	} {
		if err := os.WriteFile(filepath.Join(dir, "postmaster.pid"), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, ok := readPidFile(dir)
		if ok != c.ok || ok && p.pid != 12 {
			t.Errorf("%q: %v %+v", c.text, ok, p)
		}
	}
	p, _ := readPidFile(dir)
	want := pidFile{12, time.Unix(1700000000, 0).UTC(), "5432", "/run/x", true}
	if p != want {
		t.Errorf("read %+v, want %+v", p, want)
	}
}

func TestTellingLine(t *testing.T) {
	for text, want := range map[string]string{
		"LOG:  a\nFATAL:  no port\nLOG:  shut down":  "no port",
		"initdb: error: cannot be run as root\nhint": "cannot be run as root",
		"FATAL:  first\nPANIC:  worse\nFATAL:  last": "worse",
		"ld.so: cannot open shared object\n\n":       "ld.so: cannot open shared object",
		"":                                           "silence",
	} {
		if got := telling(strings.Split(text, "\n"), "silence"); got != want {
			t.Errorf("%q tells %q, want %q", text, got, want)
		}
	}
}

func TestLogTailAndRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("old\n1\n2\n3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(lastLines(path, 4, 2), ","); got != "2,3" {
		t.Errorf("last two lines: %s", got)
	}
	if got := strings.Join(lastLines(path, 4, 9), ","); got != "1,2,3" {
		t.Errorf("lines after the offset: %s", got)
	}
	if got := lastLines(path, 10, 9); got != nil {
		t.Errorf("lines after the end: %q", got)
	}
	if err := os.Truncate(path, 9<<20); err != nil {
		t.Fatal(err)
	}
	f, offset, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if st, err := os.Stat(path + ".1"); err != nil || st.Size() != 9<<20 || offset != 0 {
		t.Errorf("a large log was not put aside: offset %d, %v", offset, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/null", path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openLog(path); err == nil {
		t.Error("a link was followed")
	}
}

func TestDefaultDirectory(t *testing.T) {
	o, err := DefaultOptions(env("XDG_STATE_HOME", "/state", "HOME", "/home/a"))
	if err != nil || o.DataDir != "/state/todoctl/pg/default" || !o.Durable {
		t.Errorf("with XDG_STATE_HOME: %+v %v", o, err)
	}
	want := "/home/a/.local/state/todoctl/pg/default"
	if os.Geteuid() == 0 {
		want = "/var/lib/todoctl/pg/default"
	}
	if o, err = DefaultOptions(env("HOME", "/home/a")); err != nil || o.DataDir != want {
		t.Errorf("with HOME: %s %v, want %s", o.DataDir, err, want)
	}
	if o, err = DefaultOptions(env()); err != nil || !filepath.IsAbs(o.DataDir) {
		t.Errorf("with neither: %s %v", o.DataDir, err)
	}
	_, err = DefaultOptions(env("XDG_STATE_HOME", "state"))
	wantError(t, err, todo.CodeUsage, "XDG_STATE_HOME")
}

func TestSocketDirectoryIsShort(t *testing.T) {
	most := maxSocketPath(runtime.GOOS)
	fits := "/" + strings.Repeat("d", most-len("/")-len("/.s.PGSQL.5432"))
	if !socketPathFits(fits) || socketPathFits(fits+"d") {
		t.Error("the limit is not where it says it is")
	}
	_, err := Options{DataDir: "/d", SocketDir: fits + "d"}.makeSocketDir(nil)
	wantError(t, err, todo.CodeUsage, "too long", fmt.Sprint(most))
	if maxSocketPath("darwin") != 103 {
		t.Error("the field is shorter on macOS")
	}
}

func TestSocketDirectoryOfOurOwn(t *testing.T) {
	long := "/tmp/" + strings.Repeat("x", 100)
	run := t.TempDir()
	o := Options{DataDir: t.TempDir(), Getenv: env("XDG_RUNTIME_DIR", long, "TMPDIR", run)}
	who, err := serverAccount(o.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := o.makeSocketDir(who)
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(dir)
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 || !socketPathFits(dir) {
		t.Errorf("%s: %v", dir, err)
	}
	again, err := o.makeSocketDir(who)
	if err != nil || again != dir {
		t.Errorf("second time %s, %v; want %s", again, err, dir)
	}
	o.DataDir = t.TempDir()
	other, err := o.makeSocketDir(who)
	if err != nil || other == dir {
		t.Errorf("another server got the same directory %s, %v", other, err)
	}
	defer os.Remove(other)
}

func TestForeignDirectoriesAreRefused(t *testing.T) {
	me := os.Geteuid()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := ownDir(dir, me, 0o077); err != nil {
		t.Errorf("our own directory: %v", err)
	}
	wantError(t, ownDir(dir, me+1, 0o077), todo.CodeDenied, dir)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	wantError(t, ownDir(link, me, 0o077), todo.CodeDenied, link)
	if err := os.Chmod(dir, 0o770); err != nil {
		t.Fatal(err)
	}
	wantError(t, ownDir(dir, me, 0o077), todo.CodeDenied, dir)
}

func TestAccountThatCannotEnter(t *testing.T) {
	dir := t.TempDir()
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	other := &account{uid: os.Geteuid() + 12345, gid: os.Getegid() + 12345, name: "user other"}
	wantError(t, other.canEnter(filepath.Join(closed, "a", "b")), todo.CodeUsage, "user other", closed)
	if err := (*account)(nil).canEnter(filepath.Join(closed, "a")); err != nil {
		t.Errorf("ourselves: %v", err)
	}
	if err := other.canEnter("/tmp/x"); err != nil {
		t.Errorf("/tmp: %v", err)
	}
}

func TestLockIsHeldByOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	_, err = Lock(ctx, path)
	wantError(t, err, todo.CodeTimeout, path)
	unlock()
	unlock, err = Lock(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}
