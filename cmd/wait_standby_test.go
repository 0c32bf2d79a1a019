//go:build unix

package cmd_test

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/todoctl/todoctl/pkg/localpg"
	"github.com/todoctl/todoctl/pkg/pgtest"
)

// replicated is a migrated server that can have standbys.
func replicated(t *testing.T) (*localpg.Server, *cli) {
	t.Helper()
	primary := pgtest.NewServer(t, func(o *localpg.Options) {
		o.Settings = map[string]string{"max_wal_senders": "4", "wal_level": "replica"}
	})
	c := newCLIOn(t, primary.URL("postgres"))
	c.ok("migrate", "up", "--quiet")
	return primary, c
}

// standby makes a hot standby of a running server.
func standby(t *testing.T, primary *localpg.Server) *localpg.Server {
	t.Helper()
	o := pgtest.Options(t) // for the place; what is in it makes room for the copy
	bin, err := localpg.Find(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.Stat(o.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(o.DataDir); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(filepath.Join(bin.Dir, "pg_basebackup"), "-D", o.DataDir, "-h", primary.SocketDir(), "-p", "5432", "-U", localpg.Superuser,
		"-R", "-X", "stream", "-c", "fast")
	c.Dir = "/"
	if os.Geteuid() == 0 { // the copy belongs to whom the server runs as
		owner, err := user.LookupId(strconv.Itoa(int(dir.Sys().(*syscall.Stat_t).Uid)))
		if err != nil {
			t.Fatal(err)
		}
		uid, _ := strconv.Atoi(owner.Uid)
		gid, _ := strconv.Atoi(owner.Gid)
		if err := os.Mkdir(o.DataDir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(o.DataDir, uid, gid); err != nil {
			t.Fatal(err)
		}
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	o.Seed, o.SocketDir = "", ""
	return startServer(t, o)
}

// On a standby, where nobody can listen, wait looks again now and then, and says so once; the end comes by replication. What would
// change something is refused with the way out.
func TestWaitOnAStandby(t *testing.T) {
	t.Parallel()
	primary, c := replicated(t)
	id := c.ok("enqueue", "-q", "q")
	other := c.on(standby(t, primary).URL("postgres"))
	p := other.start("todoctl", "wait", id, "-o", "json")
	waitUntil(t, "word of it", func() bool { return p.errs.String() != "" })
	holds(t, other.fails(8, "claim", "-q", "q", "--wait", "1m").err, "read-only", "target_session_attrs=read-write")
	c.ok("complete", c.ok("claim", id, "-o", "receipt"), "--quiet")
	r := p.end()
	if r.code != 0 || strings.Count(r.err, `"warning"`) != 1 {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
	holds(t, r.err, "looking again now and then instead of being notified: ", "during recovery")
}
