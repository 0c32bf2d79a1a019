package cmd_test

import (
	"strings"
	"testing"
)

// TestCaseC148ChangeOverNight runs the lines of a crontab at half past one in New York on the night
// when that hour comes twice. A key of local time takes the second run for the first; the recipe of
// `help worker`, with UTC, tells them apart and still takes a repeated run for one.
func TestCaseC148ChangeOverNight(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c = c.with("TZ=America/New_York")
	const summer, winter = "2026-11-01 01:30:00 EDT", "2026-11-01 01:30:00 EST"
	for _, step := range []struct{ at, date, want string }{
		{summer, "date +%F-%H%M", "report-2026-11-01-0130,true"},
		{winter, "date +%F-%H%M", "report-2026-11-01-0130,false"},
		{summer, "date -u +%FT%H", "report-2026-11-01T05,true"},
		{winter, "date -u +%FT%H", "report-2026-11-01T06,true"},
		{winter, "date -u +%FT%H", "report-2026-11-01T06,false"},
	} {
		line := `todoctl enqueue -q report --key "report-$(` + step.date + `)" -o csv --fields idempotency_key,created`
		r := c.exec("", "faketime", step.at, "sh", "-c", line)
		if r.code != 0 || !strings.HasSuffix(r.out, "\n"+step.want+"\n") {
			t.Errorf("%s at %s: exit %d, %q, want %q: %s", step.date, step.at, r.code, r.out, step.want, r.err)
		}
	}
	if help := c.ok("help", "worker"); !strings.Contains(help, `date -u +\%FT\%H`) {
		t.Errorf("the recipe that this test runs is not in help worker:\n%s", help)
	}
	// Neither the clock nor the zone of the client is in any answer or row.
	for _, text := range strings.Fields(c.ok("list", "--jq", ".[] | .created_at, .run_at")) {
		if !strings.HasSuffix(text, "Z") {
			t.Errorf("a time that is not in UTC: %s", text)
		}
	}
	if !pgValue[bool](t, conn, "SELECT bool_and(created_at BETWEEN now() - interval '1 hour' AND now()) FROM todos") {
		t.Error("created by the client's clock")
	}
}

// TestCaseC150InfinityWhereverItIs stores infinite times by hand in each column that a command
// compares: every reader goes on, and an operator's verb ends each.
func TestCaseC150InfinityWhereverItIs(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	var ids []string
	for range 5 {
		ids = append(ids, c.ok("enqueue", "-q", "q", "1"))
	}
	held, due, early, late, old := ids[0], ids[1], ids[2], ids[3], ids[4]
	c.ok("claim", held)
	c.ok("fail", c.ok("claim", due, "-o", "receipt"))
	c.ok("complete", c.ok("claim", old, "-o", "receipt"))
	pgExec(t, conn, "UPDATE todos SET lease_expires_at = 'infinity', claimed_at = '-infinity' WHERE id = $1", held)
	pgExec(t, conn, "UPDATE todos SET next_retry_at = '-infinity' WHERE id = $1", due)
	pgExec(t, conn, "UPDATE todos SET run_at = '-infinity' WHERE id = $1", early)
	pgExec(t, conn, "UPDATE todos SET run_at = 'infinity', created_at = 'infinity' WHERE id = $1", late)
	pgExec(t, conn, "UPDATE todos SET completed_at = '-infinity', created_at = '-infinity', updated_at = 'infinity' WHERE id = $1", old)

	for _, form := range []string{"wide", "json", "tsv"} {
		c.ok("list", "--state", "all", "-o", form)
		c.ok("queues", "-o", form)
	}
	for _, id := range ids {
		c.ok("show", id, "-o", "table")
	}
	if got := c.ok("list", "--state", "all", "--jq", "[.[] | .available_at] | tostring"); got != `["infinity","-infinity","-infinity","infinity",null]` {
		t.Errorf("as printed: %s", got)
	}
	c.ok("list", "--since", "1h", "--until", "1s", "--created-since", "1d", "--state", "all")
	if got := c.ok("queues", "--jq", ".[] | [.pending, .delayed, .claimed, .expired, .retrying, .oldest_seconds]"); got != "[1,1,1,0,1,null]" {
		t.Errorf("queues: %s", got)
	}
	if got := c.ok("reap", "--jq", "[.requeued, .retried, .dead]"); got != "[0,1,0]" {
		t.Errorf("reap: %s", got)
	}
	c.ok("prune", "--older-than", "1d", "--yes")
	c.ok("release", held, "--force")
	c.ok("bump", late, "--front")
	if got := c.ok("claim", "-q", "q", "--limit", "9", "--jq", "length"); got != "4" {
		t.Errorf("claimable in the end: %s of 4", got)
	}
	c.fails(5, "show", old)
}
