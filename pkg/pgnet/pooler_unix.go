//go:build unix

package pgnet

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// NewPooler starts a PgBouncer in transaction mode, with two connections to the server of a URL that
// names a socket directory, as pgtest's do. It returns the URL of the same database by way of the pooler, which
// ends with the test. As root it runs as whom the server's directory belongs to: it refuses to run as root.
func NewPooler(t testing.TB, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatalf("pgnet: %v", err)
	}
	q := u.Query()
	info, err := os.Stat(q.Get("host"))
	if err != nil {
		t.Fatal(err)
	}
	dir := shortDir(t)
	conf := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
* = host=%s port=%s user=%s
[pgbouncer]
unix_socket_dir = %s
listen_port = 6432
auth_type = any
pool_mode = transaction
default_pool_size = 2
max_client_conn = 200
`, q.Get("host"), q.Get("port"), u.User.Username(), dir)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil { // it holds no secret, and another account reads it
		t.Fatal(err)
	}
	var said bytes.Buffer
	c := exec.Command("pgbouncer", "-q", conf)
	c.Dir, c.Stdout, c.Stderr = dir, &said, &said
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
		if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = c.Wait() // it is killed, or the test fails for want of its socket
		close(ended)
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		<-ended
	})
	for socket := filepath.Join(dir, ".s.PGSQL.6432"); ; {
		if conn, err := net.Dial("unix", socket); err == nil {
			_ = conn.Close()
			break
		}
		select {
		case <-ended:
			t.Fatalf("pgbouncer ended: %s", said.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	q.Set("host", dir)
	q.Set("port", "6432")
	u.RawQuery = q.Encode()
	return u.String()
}
