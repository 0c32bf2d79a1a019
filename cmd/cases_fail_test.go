package cmd_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// The case's 99999 of 100000 attempts would be the last one; the cap is higher here.
func TestC055BackoffDoesNotOverflow(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	for _, attempts := range []int{0, 1, 40, 64, 70, 310, 1024, 99999, 2147483645} {
		todo := c.ok("enqueue", "-q", "q", "--max-attempts", "2147483647")
		pgExec(t, conn, "UPDATE todos SET attempt = $2 WHERE id = $1", todo, attempts)
		c.ok("fail", c.ok("claim", todo, "-o", "receipt"))
		want := map[int]string{0: "00:00:30", 1: "00:01:00"}[attempts]
		if want == "" {
			want = "00:15:00"
		}
		if got := pgValue[string](t, conn, "SELECT (next_retry_at - updated_at)::text FROM todos WHERE id = $1", todo); got != want {
			t.Errorf("after %d attempts: %s, want %s", attempts+1, got, want)
		}
	}
}

func TestC057MaxAttempts(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	for _, n := range []string{"0", "-1", "2147483648", "99999999999999999999", "1.5", "1e3", "many", ""} {
		holds(t, c.fails(2, "enqueue", "-q", "q", "--max-attempts="+n).err, "max")
	}
	for _, n := range []string{"0", "-1", "2147483648", "99999999999999999999", "1.5", "1e3", `"3"`, "true"} {
		holds(t, c.from(6, fmt.Sprintf("{}\n{\"max_attempts\":%s}", n)).err, "line 2: max_attempts")
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos"); n != 0 {
		t.Fatalf("%d rows", n)
	}
	c.ok("enqueue", "-q", "big", "--max-attempts", "2147483647")
	todo := c.ok("enqueue", "-q", "q", "--max-attempts", "1")
	c.ok("fail", c.take(), "--error", "once is enough")
	if got := c.ok("show", todo, "--jq", "[.condition, .next_retry_at, .available_at, .attempt] | tojson"); got != `["dead",null,null,1]` {
		t.Errorf("after the only attempt: %s", got)
	}
	c.fails(3, "claim", "-q", "q")
	holds(t, c.fails(2, "retry", todo, "--max-attempts", "0").err, "--max-attempts")
}

func TestC058BackoffCountsFromTheFailure(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.ok("enqueue", "-q", "q")
	receipt := c.take("--ttl", "5m")
	pgExec(t, conn, "UPDATE todos SET claimed_at = now() - interval '10 min', lease_expires_at = now() - interval '5 min', run_at = now() - interval '1 day'")
	c.ok("fail", receipt)
	if !pgValue[bool](t, conn, `SELECT next_retry_at - updated_at = interval '30 s' AND run_at = next_retry_at
		AND updated_at BETWEEN now() - interval '10 min' AND now() FROM todos`) {
		t.Error("the first backoff step does not count from the failure")
	}
}

func TestC060FailureTextThatCannotBeStored(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	var noise strings.Builder
	for i := range 3_000_000 {
		noise.WriteByte(byte(i * i >> 3)) // NUL, control characters, bytes that are not UTF-8
	}
	c.ok("enqueue", "-q", "q")
	todo := id(c.take())
	c.ok("fail", todo+"@1", "--error-file", c.file("e.bin", noise.String()))
	if state := pgValue[string](t, conn, "SELECT state FROM todos"); state != "failed" {
		t.Errorf("state %s", state)
	}
	text := pgValue[string](t, conn, "SELECT error FROM todos")
	if !utf8.ValidString(text) || len(text) > 64<<10 || len(text) < 60<<10 || !strings.HasSuffix(text, "\n[… cut by todoctl]") {
		t.Errorf("the error has %d bytes and ends in %q", len(text), text[max(0, len(text)-40):])
	}
	if got := decode[struct{ Error string }](t, c.ok("show", todo, "-o", "json")).Error; got != text {
		t.Errorf("show has another text, of %d bytes", len(got))
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todo_attempts WHERE outcome = 'failed' AND error = $1", text); n != 1 {
		t.Errorf("%d rows of history have it", n)
	}

	// A flag holds what the shell can pass: no NUL, but any other byte; standard input holds anything.
	c.ok("retry", todo)
	c.ok("fail", c.take(), "--error", "caf\xe9 \xff")
	if got := pgValue[string](t, conn, "SELECT error FROM todos"); got != "caf\uFFFD \uFFFD" {
		t.Errorf("error %q", got)
	}
	c.ok("retry", todo)
	if r := c.pipe("a\x00b", "fail", c.take(), "--error-file", "-"); r.code != 0 {
		t.Fatal(r)
	}
	if got := pgValue[string](t, conn, "SELECT error FROM todos"); got != "a\uFFFDb" {
		t.Errorf("error %q", got)
	}

	// JSON is the caller's: it is refused as it is, and the todo is not touched.
	c.ok("retry", todo)
	receipt := c.take()
	unchanged(t, conn, todo, func() {
		for _, verb := range []string{"fail", "complete"} {
			holds(t, c.fails(6, verb, receipt, "--result", `{"log":"x\u0000y"}`).err, "--result", "jsonb", "not touched")
		}
	})
}

// A failed todo is in state failed until it is claimed again: due, it is claimed without a reap before.
func TestC061FailLeadsToRetrying(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	todo := c.ok("enqueue", "-q", "q")
	c.ok("fail", c.take())
	got := decode[struct {
		State, Condition string
		NextRetryAt      string `json:"next_retry_at"`
		Owner            *string
	}](t, c.ok("show", todo, "-o", "json"))
	if got.State != "failed" || got.Condition != "retrying" || got.NextRetryAt == "" || got.Owner != nil {
		t.Errorf("%+v", got)
	}
	if n := c.ok("queues", "-q", "q", "--jq", ".[]|[.retrying,.dead,.pending,.claimed]|tojson"); n != "[1,0,0,0]" {
		t.Errorf("queues: %s", n)
	}
	c.fails(3, "claim", "-q", "q")
	c.fails(4, "claim", todo)
	if got := c.ok("list", "--state", "retrying", "-o", "id"); got != todo {
		t.Errorf("list: %s", got)
	}
	if got := c.ok("dead-letters", "-o", "json"); got != "[]" {
		t.Errorf("dead letters: %s", got)
	}
	pgExec(t, conn, "UPDATE todos SET next_retry_at = now(), run_at = now()")
	if receipt := c.take(); receipt != todo+"@2" {
		t.Errorf("once due: %s", receipt)
	}
}
