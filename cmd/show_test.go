package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestShowTellsEveryLease drives one todo through each way a lease can end, and reads its history.
func TestShowTellsEveryLease(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	id := c.ok("enqueue", "-q", "mail", "--max-attempts", "9", "--event", `{"source":"s","external_id":"e1"}`, `{"n":12345678901234567890.10}`)
	lapse := func() { pgExec(t, conn, "UPDATE todos SET lease_expires_at = now() - interval '1 s'") }
	claim := func(owner string) { c.ok("claim", id, "--owner", owner) }
	claim("a")
	c.ok("fail", id, "--owner", "a", "--error", "boom", "--retry-in", "0s")
	claim("b")
	c.ok("release", id, "--owner", "b")
	claim("a")
	lapse()
	c.ok("reap")
	claim("b")
	lapse()
	claim("c")
	pgExec(t, conn, "UPDATE todos SET claimed_at = claimed_at - interval '90 s'")
	c.ok("complete", id, "--owner", "c", "--result", `{"ok":true}`)
	if got, want := c.ok("show", id, "--jq", `[.history[] | "\(.lease_seq) \(.owner) \(.outcome) \(.error)"] | join(", ")`),
		"1 a failed boom, 2 b released null, 3 a expired lease expired, 4 b taken over lease expired, 5 c completed null"; got != want {
		t.Errorf("the history is %s\nwant %s", got, want)
	}
	if got := c.ok("show", id, "--jq", ".history[4].held_seconds | . >= 90 and . < 100"); got != "true" {
		t.Errorf("how long the last lease was held: %s", c.ok("show", id, "-o", "json"))
	}
	sheet := c.ok("show", id, "-o", "table")
	for _, part := range []string{"completed", "taken over", "\npayload\n  {\n    \"n\": 12345678901234567890.10\n  }", "\nresult\n"} {
		if !strings.Contains(sheet, part) {
			t.Errorf("no %q in\n%s", part, sheet)
		}
	}
}

// TestRedactedKeys looks for a secret in every form of every answer that shows payloads to people.
func TestRedactedKeys(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	file := filepath.Join(c.dir, "secrets.yaml")
	if err := os.WriteFile(file, []byte("redact: [password, token]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.env = append(c.env, "TODOCTL_CONFIG="+file)
	id := c.ok("enqueue", "-q", "mail", "--event", `{"source":"s","external_id":"1","payload":{"token":"hush-e"}}`, `{"user":{"Password":"hush-p","name":"ada"},"token":["hush-t"]}`)
	c.ok("claim", id)
	c.ok("fail", id, "--dead", "--error", "boom", "--result", `{"token":"hush-r"}`)
	for _, args := range [][]string{
		{"show", id, "-o", "json"}, {"show", id, "-o", "table"}, {"show", id, "--jq", "."}, {"show", id, "--fields", "payload,result,event,history"}, {"show", id, "-o", "csv"},
		{"list", "--state", "all", "-o", "jsonl"}, {"list", "--state", "all", "--fields", "payload,result"}, {"list", "--state", "dead", "--jq", ".[].payload"},
		{"dead-letters", "-o", "csv"}, {"dead-letters", "list", "-o", "json"}, {"dead-letters", "groups", "--by", "payload.user"},
	} {
		got := c.ok(args...)
		if strings.Contains(got, "hush") || !strings.Contains(got, "[redacted]") {
			t.Errorf("%v prints %s", args, got)
		}
	}
	if got := c.ok("show", id, "--jq", ".payload.user.name"); got != "ada" {
		t.Errorf("what is no secret: %s", got)
	}
	if r := c.fails(2, "dead-letters", "groups", "--by", "payload.user.password"); !strings.Contains(r.err, "secrets.yaml") {
		t.Errorf("groups by a secret: %s", r.err)
	}
	c.ok("retry", id)
	if got := c.ok("claim", id, "--jq", ".payload.token[0]"); got != "hush-t" {
		t.Errorf("a worker gets %s", got)
	}
	if got := c.with("TODOCTL_REDACT=name").ok("show", id, "--jq", ".payload.user.name"); got != "[redacted]" {
		t.Errorf("by the variable: %s", got)
	}
}

// TestJournalRedacts leaves out of the journal what readers leave out of payloads: a filter may name it.
func TestJournalRedacts(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	id := c.ok("enqueue", "-q", "mail", `{"password":"hush","to":"ada"}`)
	c.ok("claim", id, "--owner", "w")
	c.ok("fail", id, "--owner", "w", "--dead", "--error", "x")
	c.ok("retry", "--payload", `{"password":"hush"}`, "--yes")
	op := c.ok("journal", "--verb", "retry", "-o", "id")
	if plain := c.ok("journal", "show", op, "-o", "json"); !strings.Contains(plain, "hush") {
		t.Fatalf("the filter is not in the journal: %s", plain)
	}
	c = c.with("TODOCTL_REDACT=password")
	for _, args := range [][]string{{"journal", "show", op, "-o", "json"}, {"journal", "show", op}, {"journal", "-o", "json"}, {"journal", "-o", "wide"}, {"journal"}} {
		if got := c.ok(args...); strings.Contains(got, "hush") {
			t.Errorf("%v: %s", args, got)
		}
	}
	if got := c.ok("journal", "show", op, "--jq", ".filter.payload"); got != `{"password":"[redacted]"}` {
		t.Errorf("the payload of the filter: %s", got)
	}
}
