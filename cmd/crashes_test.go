package cmd_test

import (
	"strings"
	"testing"
)

// TestCrashesGivesTheNextCommand lets three leases of a todo run out under two owners, and runs the command that it is told.
func TestCrashesGivesTheNextCommand(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	id := c.ok("enqueue", "-q", "mail", "null")
	if got := c.ok("crashes", "--jq", ".findings | length"); got != "0" {
		t.Errorf("of a new queue: %s", got)
	}
	for _, owner := range []string{"u@h1", "u@h2", "u@h1"} {
		c.ok("claim", id, "--owner", owner)
		pgExec(t, conn, "UPDATE todos SET lease_expires_at = now() - interval '1 s'")
	}
	command := c.ok("crashes", "--jq", `.findings[] | select(.code == "poison") | .command`)
	if r := c.sh("sh", command); r.code != 0 || !strings.Contains(command, id) {
		t.Errorf("%s: exit %d %s", command, r.code, r.err)
	}
	if got := c.ok("show", id, "--jq", ".condition"); got != "dead" {
		t.Errorf("after it: %s", got)
	}
	if got := c.ok("crashes"); got != "3\t0\t0\t0\t2" { // the third was ended by the command
		t.Errorf("off a terminal: %q", got)
	}
	pgExec(t, conn, "INSERT INTO todos (queue, state, owner, claimed_at, completed_at, lease_seq) SELECT 'mail', 'done', 'w', now(), now(), 1 FROM generate_series(1, 1001)")
	if r := c.run("crashes", "--scan-limit", "1", "--jq", ".completed"); r.code != 0 || r.out != "1000\n" || !strings.Contains(r.err, "~ read") {
		t.Errorf("cut short: %s%s", r.out, r.err)
	}
	if r := c.run("crashes", "--scan-limit", "1", "--exact", "--jq", ".completed"); r.out != "1001\n" || r.err != "" {
		t.Errorf("exact: %s%s", r.out, r.err)
	}
	c.fails(2, "crashes", "--scan-limit", "0")
	c.fails(2, "crashes", "--window", "0s")
}
