package cmd_test

import "testing"

// TestThinPath takes one todo from enqueue to done by the commands alone.
func TestThinPath(t *testing.T) {
	c := newCLI(t)
	id := c.ok("enqueue", "-q", "mail", `{"n":1}`)
	receipt := c.ok("claim", "-q", "mail", "-o", "receipt")
	if receipt != id+"@1" {
		t.Fatalf("receipt %q of todo %q", receipt, id)
	}
	c.ok("complete", receipt)
	if got := c.ok("show", id, "--jq", ".state"); got != "done" {
		t.Fatalf("state %q", got)
	}
	c.fails(3, "claim", "-q", "mail")
}
