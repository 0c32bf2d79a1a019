package cmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/localpg"
	"github.com/todoctl/todoctl/pkg/pgtest"
)

// TestC039ClientClockIsWrong moves the server's clock instead of the client's, which comes to the same:
// libfaketime replaces functions of the C library, and a Go program asks the kernel for the time.
func TestC039ClientClockIsWrong(t *testing.T) {
	for _, shift := range []time.Duration{2 * time.Hour, -2 * time.Hour} {
		t.Run(shift.String(), func(t *testing.T) {
			t.Parallel()
			server := pgtest.NewServer(t, func(o *localpg.Options) { o.BinDir = shiftedBinaries(t, shift) })
			url := server.URL(localpg.Database)
			c := newCLIOn(t, url)
			c.ok("migrate", "up", "--quiet")
			conn := pgtest.Connect(t, url)
			now := pgValue[time.Time](t, conn, "SELECT now()")
			if off := time.Until(now) - shift; off < -10*time.Minute || off > 10*time.Minute {
				t.Fatalf("the server's clock was not moved: it says %s", now)
			}

			c.ok("enqueue", "-q", "q", "--delay", "1m")
			if !pgValue[bool](t, conn, "SELECT run_at - created_at BETWEEN interval '59 s' AND interval '61 s' FROM todos") {
				t.Error("the delay is not by the server's clock")
			}
			c.fails(3, "claim", "-q", "q")
			todo := c.ok("enqueue", "-q", "q")
			receipt := c.take("--ttl", "60s")
			lease := func(ttl string) {
				t.Helper()
				if !pgValue[bool](t, conn, `SELECT lease_expires_at - updated_at = $2::text::interval AND updated_at BETWEEN now() - interval '10 min' AND now()
					FROM todos WHERE id = $1`, todo, ttl) {
					t.Errorf("the lease is not %s from now by the server's clock: %s", ttl, snapshot(t, conn, todo))
				}
			}
			lease("60 s")
			if got := c.ok("reap", "-o", "json"); got != `{"requeued":0,"retried":0,"dead":0}` {
				t.Errorf("reap took a live lease: %s", got)
			}
			c.ok("heartbeat", receipt, "--ttl", "90s")
			lease("90 s")
			c.ok("heartbeat", receipt, "--ttl", "299m")
			if got := c.ok("list", "--state", "claimed", "-o", "table"); !strings.Contains(got, "in 4h") {
				t.Errorf("what is left of the lease is not by the server's clock:\n%s", got)
			}
			c.ok("fail", receipt, "--error", "x")
			if !pgValue[bool](t, conn, "SELECT next_retry_at - updated_at = interval '30 s' FROM todos WHERE id = $1", todo) {
				t.Error("the backoff is not by the server's clock")
			}
			c.ok("retry", todo, "--delay", "10m")
			if got := c.ok("list", "--since", "10m", "--state", "delayed", "-o", "id"); !strings.Contains(got, todo) {
				t.Errorf("--since is not by the server's clock: %q", got)
			}
		})
	}
}

// shiftedBinaries returns a directory of PostgreSQL's programs of which the server runs by a clock that is off.
func shiftedBinaries(t *testing.T, shift time.Duration) string {
	t.Helper()
	tool, err := exec.LookPath("faketime")
	if err != nil {
		t.Fatal("faketime is missing; run: sh .ci/setup test (on Debian: apt-get install faketime)")
	}
	real, err := localpg.Find(t.Context(), localpg.Options{Getenv: os.Getenv})
	if err != nil {
		t.Fatal(err)
	}
	dir := pgtest.Dir(t)
	for _, name := range []string{"initdb", "pg_ctl"} {
		if err := os.Symlink(filepath.Join(real.Dir, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	// The tool itself stays between the caller and the server; the server must be the process that is started.
	env, err := exec.Command(tool, "-f", "+0s", "env").Output()
	if err != nil {
		t.Fatalf("faketime: %v", err)
	}
	script := fmt.Sprintf("#!/bin/sh\nexport FAKETIME='%+ds'\n", int(shift.Seconds()))
	for _, line := range strings.Split(string(env), "\n") {
		if name, value, ok := strings.Cut(line, "="); ok && (name == "LD_PRELOAD" || strings.HasPrefix(name, "DYLD_")) {
			script += fmt.Sprintf("export %s='%s'\n", name, value)
		}
	}
	script += fmt.Sprintf("exec '%s' \"$@\"\n", filepath.Join(real.Dir, "postgres"))
	if err := os.WriteFile(filepath.Join(dir, "postgres"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}
