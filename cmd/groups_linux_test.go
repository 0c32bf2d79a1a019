package cmd_test

import (
	"strings"
	"testing"
)

// TestTerminalGroupsTellProgress holds the answer back and reads how long the terminal says it has taken.
func TestTerminalGroupsTellProgress(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	id := c.ok("enqueue", "-q", "mail", "null")
	c.ok("claim", id)
	c.ok("fail", id, "--dead", "--error", "no such host db7")
	pgExec(t, conn, "BEGIN")
	pgExec(t, conn, "LOCK TABLE todos IN ACCESS EXCLUSIVE MODE")
	s := c.sit("dead-letters", "groups")
	s.until("grouping dead letters, 2s")
	pgExec(t, conn, "ROLLBACK")
	s.answer("", "exit status 0")
	if _, after, _ := strings.Cut(s.shown, "2s\r\x1b[K"); !strings.Contains(after, "no such host db7") {
		t.Errorf("the terminal shows %q", s.shown)
	}
}

// TestEveryFilterTakesAFingerprint looks at the flags of every command that selects todos.
func TestEveryFilterTakesAFingerprint(t *testing.T) {
	t.Parallel()
	n := 0
	for _, c := range commands() {
		if c.Flags().Lookup("held-by") == nil {
			continue
		}
		if n++; c.Flags().Lookup("fp") == nil || c.Flags().Lookup("fingerprint") == nil {
			t.Errorf("%s does not", c.CommandPath())
		}
	}
	if n < 8 {
		t.Errorf("only %d commands filter", n)
	}
}
