package cmd_test

import (
	"strings"
	"testing"
)

// TestWrongRegularExpression is told although there is no row to compare it with.
func TestWrongRegularExpression(t *testing.T) {
	c := newCLI(t)
	for _, verb := range []string{"list", "dead-letters"} {
		if r := c.fails(2, verb, "--error", "("); !strings.Contains(r.err, "--error") {
			t.Errorf("%s: %s", verb, r.err)
		}
	}
	c.fails(2, "retry", "--error", "(", "--yes")
	c.fails(2, "retry", "--error", "(", "--dry-run")
}
