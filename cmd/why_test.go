package cmd_test

import (
	"strings"
	"testing"
)

// TestWhyOnTheCommandLine asks for an id and for a queue, and runs the command that the answer gives.
func TestWhyOnTheCommandLine(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	id := c.ok("enqueue", "-q", "mail", "--delay", "1h", "null")
	type answer struct {
		ID, Code, Command string
		Claimable         bool
		Ahead             int
		Reasons           []struct{ Code, Until string }
	}
	a := decode[answer](t, c.ok("why", id, "-o", "json"))
	if a.ID != id || a.Code != "delayed" || a.Claimable || len(a.Reasons) != 1 || a.Reasons[0].Until == "" {
		t.Errorf("a delayed todo: %+v", a)
	}
	if r := c.sh("sh", a.Command); r.code != 0 {
		t.Errorf("%s: exit %d %s", a.Command, r.code, r.err)
	}
	if got := c.ok("why", id+"@1", "--jq", ".code"); got != "claimable" {
		t.Errorf("after it: %s", got)
	}
	c.ok("pause", "mail", "--reason", "deploy")
	line := c.ok("why", "-q", "mail")
	if f := strings.Split(line, "\t"); len(f) != 4 || f[0] != "mail" || f[1] != "paused" || !strings.Contains(f[2], ": deploy") || f[3] != "todoctl resume mail" {
		t.Errorf("a paused queue: %q", line)
	}
	if got := c.ok("why", "-q", "mial", "--jq", ".code"); got != "unknown-queue" {
		t.Errorf("a misspelt queue: %s", got)
	}
	id = c.ok("enqueue", "-q", "own", "--assignee", "it's me", "null")
	a = decode[answer](t, c.ok("why", id, "-o", "json"))
	if r := c.sh("sh", a.Command+" -o id"); a.Code != "assigned" || r.out != id+"\n" {
		t.Errorf("%+v: %s%s", a, r.out, r.err)
	}
	c.fails(5, "why", "td_none")
	c.fails(2, "why")
	c.fails(2, "why", id, "-q", "mail")
	c.fails(2, "why", "-q", "a,b")
	if got := c.ok("why", id, "--owner", "x", "--exact", "-o", "table"); !strings.Contains(got, "it's me holds it since") {
		t.Errorf("as a table:\n%s", got)
	}
}
