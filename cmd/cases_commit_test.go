package cmd_test

import (
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/pgnet"
	"github.com/todoctl/todoctl/pkg/pgtest"
)

// TestCaseC080ConnectionDiesDuringCommit cuts the connection after the server has carried a statement
// out and before the answer arrives. What is safe to repeat is repeated and answered truly; of the
// rest the outcome is unknown, and the message says how to find out.
func TestCaseC080ConnectionDiesDuringCommit(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	direct := newCLIOn(t, url)
	rows := func(queue string) string { return direct.ok("list", "-q", queue, "--state", "all", "--jq", "length") }

	t.Run("enqueue with a key", func(t *testing.T) {
		p := pgnet.NewProxy(t, url)
		p.CutAnswer("insert into todos")
		c := newCLIOn(t, p.URL())
		if got := c.ok("enqueue", "-q", "keyed", "--key", "k", "1", "--jq", ".created"); got != "true" || rows("keyed") != "1" || p.Cuts() != 1 {
			t.Errorf("created %s, %s rows, %d cuts", got, rows("keyed"), p.Cuts())
		}
	})
	t.Run("enqueue without a key", func(t *testing.T) {
		p := pgnet.NewProxy(t, url)
		p.CutAnswer("insert into todos")
		r := newCLIOn(t, p.URL()).fails(9, "enqueue", "-q", "bare", "1")
		if r.out != "" || rows("bare") != "1" || !strings.Contains(r.err, "hint: ") {
			t.Errorf("%s rows: %s%s", rows("bare"), r.out, r.err)
		}
	})
	t.Run("complete by receipt", func(t *testing.T) {
		direct.ok("enqueue", "-q", "done", "1")
		receipt := direct.ok("claim", "-q", "done", "-o", "receipt")
		p := pgnet.NewProxy(t, url)
		p.CutAnswer("update todos")
		if got := newCLIOn(t, p.URL()).ok("complete", receipt, "--jq", "[.state, .already] | join(\" \")"); got != "done true" || p.Cuts() != 1 {
			t.Errorf("%s, %d cuts", got, p.Cuts())
		}
	})
	t.Run("complete by bare id", func(t *testing.T) {
		id := direct.ok("enqueue", "-q", "id", "1")
		direct.ok("claim", id)
		p := pgnet.NewProxy(t, url)
		p.CutAnswer("update todos")
		newCLIOn(t, p.URL()).fails(9, "complete", id)
		if got := direct.ok("show", id, "--jq", ".state"); got != "done" {
			t.Errorf("state %s", got)
		}
	})
	t.Run("claim", func(t *testing.T) {
		id := direct.ok("enqueue", "-q", "claimed", "1")
		p := pgnet.NewProxy(t, url)
		p.CutAnswer("update todos")
		newCLIOn(t, p.URL()).fails(9, "claim", "-q", "claimed")
		if got := direct.ok("show", id, "--jq", ".state"); got != "claimed" { // its lease will lapse
			t.Errorf("state %s", got)
		}
	})
	t.Run("fail by receipt", func(t *testing.T) {
		direct.ok("enqueue", "-q", "failed", "1")
		receipt := direct.ok("claim", "-q", "failed", "-o", "receipt")
		p := pgnet.NewProxy(t, url)
		p.CutAnswer("update todos")
		if got := newCLIOn(t, p.URL()).ok("fail", receipt, "--error", "x", "--jq", "[.condition, .already] | join(\" \")"); got != "retrying true" {
			t.Errorf("%s", got)
		}
	})
}
