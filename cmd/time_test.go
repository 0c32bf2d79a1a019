package cmd_test

import (
	"context"
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

// Both moments are half past one in New York: 05:30 and 06:30 UTC on the night when the clocks go back.
func TestCaseC148KeysMadeOfUTCTellTheTwoHoursApart(t *testing.T) {
	c := newCLI(t).with("TZ=America/New_York")
	run := func(clock, stamp string) string {
		r := c.sh("sh", `todoctl enqueue -q nightly --key "nightly-$(date `+clock+` -d @`+stamp+` +%F-%H%M)" 1 -o json`)
		if r.code != 0 {
			t.Fatalf("exit %d: %s", r.code, r.err)
		}
		return r.out
	}
	const before, after = "1793511000", "1793514600"
	if a, b := run("", before), run("", after); !strings.Contains(a, `"created":true`) || !strings.Contains(b, `"created":false`) {
		t.Errorf("keys of local time: %s%s", a, b)
	}
	a, b, again := run("-u", before), run("-u", after), run("-u", after)
	if !strings.Contains(a, `"created":true`) || !strings.Contains(b, `"created":true`) || !strings.Contains(again, `"created":false`) {
		t.Errorf("keys of UTC: %s%s%s", a, b, again)
	}
	for _, form := range []string{"json", "tsv", "csv"} {
		got := c.ok("list", "-o", form, "--fields", "created_at,run_at")
		if !strings.Contains(got, "Z") || strings.Contains(got, "-04:00") || strings.Contains(got, "-05:00") {
			t.Errorf("-o %s is not in UTC: %s", form, got)
		}
	}
	if r := c.fails(2, "list", "--since", "2026-11-01T01:30:00"); !strings.Contains(r.err, "no time zone") || !strings.Contains(r.err, "2026-11-01T01:30:00Z") {
		t.Errorf("a time without a zone: %s", r.err)
	}
	if r := c.fails(2, "list", "--since", "1793511000"); !strings.Contains(r.err, "1793511000s") || !strings.Contains(r.err, "2026-11-01T") {
		t.Errorf("a bare number: %s", r.err)
	}
}

func TestCaseC150InfiniteTimes(t *testing.T) {
	url := pgtest.Database(t)
	c := newCLIOn(t, url)
	leased, retrying := c.ok("enqueue", "-q", "q", "1"), c.ok("enqueue", "-q", "q", "2")
	c.ok("claim", leased)
	c.ok("fail", c.ok("claim", retrying, "-o", "receipt"))
	conn := pgtest.Connect(t, url)
	for _, statement := range []string{"update todos set lease_expires_at = 'infinity' where id = $1", "update todos set next_retry_at = '-infinity', run_at = '-infinity' where id = $1"} {
		id := leased
		if strings.Contains(statement, "next_retry_at") {
			id = retrying
		}
		if _, err := conn.Exec(context.Background(), statement, id); err != nil {
			t.Fatal(err)
		}
	}
	for _, argv := range []string{"list -o json", "list -o table", "list", "show " + leased, "show " + retrying + " -o table", "list --held-by w -o wide", "queues -o json", "queues -o table"} {
		if r := c.run(strings.Fields(argv)...); r.code != 0 {
			t.Errorf("%s: exit %d: %s", argv, r.code, r.err)
		}
	}
	if got := c.ok("show", leased, "--jq", ".lease_expires_at, .condition"); got != "infinity\nclaimed" {
		t.Errorf("the endless lease: %s", got)
	}
	if got := c.ok("show", retrying, "--jq", ".next_retry_at"); got != "-infinity" {
		t.Errorf("the endless backoff: %s", got)
	}
	c.ok("reap")
	if got := c.ok("show", leased, "--jq", ".condition"); got != "claimed" {
		t.Errorf("reap took a lease that runs: %s", got)
	}
	c.ok("release", leased, "--force")
	if got := c.ok("list", "-q", "q", "--state", "pending", "-o", "id"); !strings.Contains(got, leased) || !strings.Contains(got, retrying) {
		t.Errorf("not claimable again: %q", got)
	}
}
