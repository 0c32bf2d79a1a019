package cmd_test

import (
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

// TestDoctorAnswersAsMonitoringWants checks the exit status alone apart from the findings.
func TestDoctorAnswersAsMonitoringWants(t *testing.T) {
	c := newCLI(t)
	if got := c.ok("doctor", "--jq", "map(.status) | unique | .[]"); got != "ok" {
		t.Errorf("healthy: %s", got)
	}
	c.fails(3, "doctor", "--no-such-flag")
	c.fails(3, "doctor", "stray")
	c.with("TODOCTL_DATABASE_URL=postgres://x@127.0.0.1:1/x").fails(2, "doctor")
	empty := newCLIOn(t, pgtest.EmptyDatabase(t)).fails(2, "doctor", "-o", "tsv")
	if !strings.Contains(empty.out, "todoctl migrate up") {
		t.Errorf("no schema: %s", empty.out)
	}
}
