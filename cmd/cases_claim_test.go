package cmd_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// refusal is the JSON error of a command.
type refusal struct {
	Error struct {
		Code, Message, Reason string
		NextAt                string `json:"next_at"`
	}
}

func TestC045AssigneeRespected(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	todo := c.ok("enqueue", "-q", "q", "--assignee", "bob")
	unchanged(t, conn, todo, func() {
		r := c.fails(3, "claim", "-q", "q", "--owner", "alice", "-o", "json")
		if got := decode[refusal](t, r.err).Error; got.Code != "empty" || got.Reason != "assigned" {
			t.Errorf("%+v", got)
		}
		holds(t, c.fails(4, "claim", todo, "--owner", "alice").err, "assigned to bob")
	})
	free := c.ok("enqueue", "-q", "q")
	if got := c.take("--owner", "alice"); id(got) != free {
		t.Errorf("alice got %s, not %s behind bob's", got, free)
	}
	if got := c.take("--owner", "bob"); id(got) != todo {
		t.Errorf("bob got %s", got)
	}
	byID := c.ok("enqueue", "-q", "q", "--assignee", "bob")
	c.ok("claim", byID, "--owner", "bob")
}

// By the contract nothing is printed, [] with --limit; exit 3 is silent off a terminal but for JSON, which has the reason
// instead of the case's -v.
func TestC048NothingToClaim(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	reason := func(want, queue string) refusal {
		t.Helper()
		r := c.fails(3, "claim", "-q", queue, "-o", "json")
		e := decode[refusal](t, r.err)
		if r.out != "" || e.Error.Code != "empty" || e.Error.Reason != want {
			t.Errorf("queue %s: %q %q, want the reason %s", queue, r.out, r.err, want)
		}
		return e
	}
	if r := c.fails(3, "claim", "-q", "nowhere"); r.out != "" || r.err != "" {
		t.Errorf("not silent: %+v", r)
	}
	if r := c.fails(3, "claim", "-q", "nowhere", "-n", "2", "-o", "json"); r.out != "[]\n" {
		t.Errorf("--limit: %q", r.out)
	}
	reason("unknown-queue", "nowhere")
	c.ok("enqueue", "-q", "q")
	receipt := c.take()
	reason("none", "q") // all in flight
	c.ok("fail", receipt)
	next := pgValue[string](t, conn, `SELECT to_char(next_retry_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') FROM todos`)
	if e := reason("delayed", "q"); !strings.HasPrefix(e.Error.NextAt, next) {
		t.Errorf("next_at %q, the retry is due at %q", e.Error.NextAt, next)
	}
	c.ok("pause", "q")
	reason("paused", "q")
	c.ok("complete", c.ok("claim", c.ok("enqueue", "-q", "worked"), "-o", "receipt"))
	reason("none", "worked") // known, though it holds nothing
}

func TestC049FirstInFirstOutInOneBatch(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, "{\"payload\":%d}\n", i)
	}
	c.from(0, lines.String())
	next := 0
	got := func(answer string) {
		t.Helper()
		for n := range strings.Lines(answer) {
			if strings.TrimSpace(n) != fmt.Sprint(next) {
				t.Fatalf("%s came, not %d", n, next)
			}
			next++
		}
	}
	for range 5 {
		got(c.ok("claim", "-q", "q", "--jq", ".payload"))
	}
	for next < 1000 {
		got(c.ok("claim", "-q", "q", "-n", "199", "--jq", ".[].payload"))
	}
	c.fails(3, "claim", "-q", "q")
}

// The rule: own todos over all queues, then the queue whose head is oldest; or with --strict-order the order given.
func TestC050SeveralQueues(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	queues := func(args ...string) string {
		t.Helper()
		return c.ok(append([]string{"claim", "--jq", ".queue"}, args...)...)
	}
	c.ok("enqueue", "-q", "b")
	if r := c.pipe(strings.Repeat("{}\n", 1000), "enqueue", "-q", "a", "--from", "-"); r.code != 0 {
		t.Fatal(r)
	}
	c.ok("enqueue", "-q", "b")
	if got := queues("-q", "a", "-q", "b", "--strict-order"); got != "a" {
		t.Errorf("--strict-order: %s", got)
	}
	for i, want := range []string{"b", "a", "a"} {
		if got := queues("-q", "a", "-q", "b"); got != want {
			t.Errorf("claim %d: %s, want %s", i, got, want)
		}
	}
	if got := queues("-q", "b,a"); got != "a" { // the order of the names says nothing
		t.Errorf("-q b,a: %s", got)
	}
	c.ok("enqueue", "-q", "b", "--assignee", "w")
	for i, want := range []string{"b", "a"} {
		if got := queues("-q", "a,b"); got != want {
			t.Errorf("own todo: claim %d: %s, want %s", i, got, want)
		}
	}
	holds(t, c.fails(2, "claim", "-q", "a,").err, "empty")
	holds(t, c.fails(2, "claim", "-q", "a b").err, "not a queue name")
}

func TestC052ParallelClaimers(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	const todos, claimers = 120, 8
	c.from(0, strings.Repeat("{}\n", todos))
	var all sync.WaitGroup
	got := make([][]string, claimers)
	ends := make([]outcome, claimers)
	for i := range claimers {
		all.Go(func() {
			for {
				r := c.run("claim", "-q", "q", "--owner", fmt.Sprint("w", i), "-o", "id")
				if r.code != 0 {
					ends[i] = r
					return
				}
				got[i] = append(got[i], strings.TrimSpace(r.out))
			}
		})
	}
	all.Wait()
	holder := map[string]int{}
	for i, list := range got {
		if ends[i].code != 3 || ends[i].err != "" {
			t.Errorf("claimer %d ended with %+v", i, ends[i])
		}
		for _, id := range list {
			if other, twice := holder[id]; twice {
				t.Errorf("%s was handed to %d and to %d", id, other, i)
			}
			holder[id] = i
			if !pgValue[bool](t, conn, "SELECT owner = $2 AND attempt = 1 FROM todos WHERE id = $1", id, fmt.Sprint("w", i)) {
				t.Errorf("%s is not %d's", id, i)
			}
		}
	}
	if len(holder) != todos {
		t.Errorf("%d of %d were handed out", len(holder), todos)
	}
}

// What is no id at all, but could be one, is not found; what cannot be one is usage.
func TestC054ClaimByID(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	done := c.ok("enqueue", "-q", "q")
	c.ok("complete", c.take())
	held := c.ok("enqueue", "-q", "q")
	c.take("--owner", "w")
	all := func() string {
		return pgValue[string](t, conn, "SELECT jsonb_agg(to_jsonb(t) ORDER BY id)::text FROM todos t")
	}
	before := all()
	holds(t, c.fails(5, "claim", "td_nope").err, "no todo td_nope")
	holds(t, c.fails(5, "claim", "x; drop").err, "no todo x; drop")
	holds(t, c.fails(4, "claim", done).err, "it is done")
	until := pgValue[string](t, conn, `SELECT to_char(lease_expires_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') FROM todos WHERE id = $1`, held)
	holds(t, c.fails(4, "claim", held, "--owner", "w2").err, "attempt 1 is w's since 20", "until "+until)
	c.fails(2, "claim", "")
	c.fails(2, "claim", held+"@x")
	if after := all(); after != before {
		t.Errorf("changed from %s to %s", before, after)
	}
	var raw struct{ Error json.RawMessage }
	if err := json.Unmarshal([]byte(c.fails(4, "claim", held, "-o", "json").err), &raw); err != nil {
		t.Error(err)
	}
	holds(t, string(raw.Error), `"owner":"w"`, `"lease_seq":1`)
}
