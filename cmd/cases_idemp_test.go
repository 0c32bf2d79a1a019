package cmd_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// made is what enqueue -o json says of one todo.
type made struct {
	ID, State, Condition string
	Created              bool
}

// enqueued makes or finds a todo with a key in queue q.
func (c *cli) enqueued(key string, more ...string) made {
	c.t.Helper()
	return decode[made](c.t, c.ok(append([]string{"enqueue", "-q", "q", "--key", key, "-o", "json"}, more...)...))
}

// take claims the next todo of queue q and returns its receipt.
func (c *cli) take(more ...string) string {
	c.t.Helper()
	return c.ok(append([]string{"claim", "-q", "q", "-o", "receipt"}, more...)...)
}

func TestC020KeyAfterDone(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	first := c.enqueued("k1")
	c.ok("complete", c.take())
	second := c.enqueued("k1")
	if !first.Created || !second.Created || first.ID == second.ID {
		t.Errorf("%+v, then %+v", first, second)
	}
	if got := c.ok("list", "-q", "q", "--state", "all", "-o", "id"); got != first.ID+"\n"+second.ID {
		t.Errorf("listed: %s", got)
	}
}

func TestC021KeyWhilePendingOrClaimed(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	first := c.enqueued("k")
	if again := c.enqueued("k"); again != (made{first.ID, "pending", "pending", false}) {
		t.Errorf("pending: %+v", again)
	}
	c.take()
	for range 3 {
		if again := c.enqueued("k"); again != (made{first.ID, "claimed", "claimed", false}) {
			t.Errorf("claimed: %+v", again)
		}
	}
	expire(t, conn)
	if again := c.enqueued("k"); again != (made{first.ID, "claimed", "expired", false}) {
		t.Errorf("expired: %+v", again)
	}
	if got := decode[bulk](t, c.from(0, `{"key":"k"}`).out); got != (bulk{Duplicates: 1}) {
		t.Errorf("by line: %+v", got)
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos"); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// The backoff window counts as live here: the second enqueue returns the waiting todo.
func TestC022KeyInTheRetryWindow(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	first := c.enqueued("K")
	c.from(0, strings.Repeat("{}\n", 20))
	if r := c.sh("sh", "todoctl claim -q q -n 21 -o receipt | todoctl fail - --error x --quiet"); r.code != 0 {
		t.Fatal(r)
	}
	if again := c.enqueued("K"); again != (made{first.ID, "failed", "retrying", false}) {
		t.Errorf("retrying: %+v", again)
	}
	pgExec(t, conn, "UPDATE todos SET next_retry_at = now() - interval '1 s', run_at = now() - interval '1 s'")
	if again := c.enqueued("K"); again.ID != first.ID || again.Created {
		t.Errorf("due: %+v", again)
	}
	if got := c.ok("reap", "-o", "json"); got != `{"requeued":0,"retried":21,"dead":0}` {
		t.Errorf("reap: %s", got)
	}
	if got := strings.Split(c.take("-n", "50"), "\n"); len(got) != 21 {
		t.Errorf("%d claimed", len(got))
	}
}

// By filter superseded todos are counted in the answer and the exit status is 0: nobody named them. By name it is a conflict.
func TestC024RetryBesideALiveKey(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	dead := c.enqueued("K")
	c.enqueued("other")
	c.ok("enqueue", "-q", "q")
	if r := c.sh("sh", "todoctl claim -q q -n 3 -o receipt | todoctl fail - --dead --quiet"); r.code != 0 {
		t.Fatal(r)
	}
	live := c.enqueued("K")
	before := pgValue[string](t, conn, "SELECT to_jsonb(t)::text FROM todos t WHERE id = $1", dead.ID)
	r := c.fails(4, "retry", dead.ID, "-o", "json")
	holds(t, r.err, "superseded", live.ID, `"code":"conflict"`, `"superseded_by":"`+live.ID+`"`)
	if r.out != "" {
		t.Errorf("answered %s", r.out)
	}
	want := `,"verb":"retry","matched":3,"changed":2,"superseded":1,"skipped":0,"errors":0}`
	if got := c.ok("retry", "-q", "q", "--yes", "-o", "json"); !strings.HasSuffix(got, want) || !strings.HasPrefix(got, `{"op":"op_`) {
		t.Errorf("retry by filter: %s", got)
	}
	if after := pgValue[string](t, conn, "SELECT to_jsonb(t)::text FROM todos t WHERE id = $1", dead.ID); after != before {
		t.Errorf("the dead one changed from %s to %s", before, after)
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state = 'pending'"); n != 3 {
		t.Errorf("%d pending", n)
	}
}

func TestC025EmptyKey(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	for _, n := range []string{"1", "2"} {
		holds(t, c.fails(2, "enqueue", "-q", "q", "--key", "", "--payload", n).err, "--key", "empty")
	}
	holds(t, c.from(6, `{"key":"","payload":1}`).err, "line 1: ", "the key is empty")
	holds(t, c.from(6, `{"idempotency_key":"","payload":1}`).err, "line 1: ", "the key is empty")
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos"); n != 0 {
		t.Errorf("%d rows", n)
	}
	if got := decode[bulk](t, c.from(0, "{\"key\":null,\"payload\":1}\n{\"key\":null,\"payload\":1}").out); got != (bulk{Created: 2}) {
		t.Errorf("null keys: %+v", got)
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE idempotency_key IS NULL"); n != 2 {
		t.Errorf("%d rows without a key", n)
	}
}

func TestC027LongKeys(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	lines := caseLines(t, "C027-longkey.ndjson")
	var want, good []string
	for i, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		key := decode[struct{ Key string }](t, line).Key
		if len(key) > 1024 {
			want = append(want, fmt.Sprintf("line %d: the key has %d bytes, more than 1024", i+1, len(key)))
			holds(t, c.fails(2, "enqueue", "-q", "q", "--key", key).err, "the key has")
		} else {
			good = append(good, key)
		}
	}
	if len(want) < 4 || len(good) < 2 {
		t.Fatalf("%d long and %d short keys", len(want), len(good))
	}
	holds(t, c.from(6, lines).err, want...)
	c.from(7, lines, "--skip-invalid")
	// The limit counts bytes, whatever they compress to.
	for _, key := range []string{strings.Repeat("a", 1024), strings.Repeat("é", 512)} {
		c.ok("enqueue", "-q", "q", "--key", key)
		good = append(good, key)
		c.fails(2, "enqueue", "-q", "q", "--key", key+"b")
	}
	if got := pgValue[[]string](t, conn, "SELECT array_agg(idempotency_key ORDER BY id) FROM todos"); !slices.Equal(got, good) {
		t.Errorf("keys %q", got)
	}
}

func TestC028OneKeyFromManyProcesses(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	var all sync.WaitGroup
	answers := make([]outcome, 50)
	for i := range answers {
		all.Go(func() { answers[i] = c.run("enqueue", "-q", "q", "--key", "same", "-o", "json") })
	}
	all.Wait()
	ids, created := map[string]bool{}, 0
	for _, r := range answers {
		if r.code != 0 || r.err != "" {
			t.Fatalf("%+v", r)
		}
		m := decode[made](t, r.out)
		ids[m.ID] = true
		if m.Created {
			created++
		}
	}
	if len(ids) != 1 || created != 1 {
		t.Errorf("%d ids, %d created", len(ids), created)
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos"); n != 1 {
		t.Errorf("%d rows", n)
	}
}

// The case reads an array; by the contract jsonl has one line for each line of input, in its order.
func TestC030DuplicatesInOneBatch(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, "{\"key\":\"k%d\",\"payload\":{\"n\":%d}}\n", i%200, i)
	}
	r := c.pipe(lines.String(), "enqueue", "-q", "q", "--from", "-", "-o", "jsonl")
	answers := strings.Split(strings.TrimSpace(r.out), "\n")
	if r.code != 0 || len(answers) != 1000 {
		t.Fatalf("exit %d, %d lines\n%s", r.code, len(answers), r.err)
	}
	ids := make([]string, 200)
	for i, answer := range answers {
		var a struct {
			Line    int
			ID      string
			Created bool
		}
		if err := json.Unmarshal([]byte(answer), &a); err != nil {
			t.Fatal(err)
		}
		if i < 200 {
			ids[i] = a.ID
		}
		if a.Line != i+1 || a.Created != (i < 200) || a.ID != ids[i%200] {
			t.Fatalf("line %d: %s", i+1, answer)
		}
	}
	if n := pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE idempotency_key = 'k' || (payload->>'n') AND (payload->>'n')::int < 200"); n != 200 {
		t.Errorf("%d of 200 keys have the payload of their first line", n)
	}
	if got := decode[bulk](t, c.from(0, lines.String()).out); got != (bulk{Duplicates: 1000}) {
		t.Errorf("again: %+v", got)
	}
}

func TestC031OneKeyInTwoQueues(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	a := decode[made](t, c.ok("enqueue", "-q", "a", "--key", "k", "-o", "json"))
	b := decode[made](t, c.ok("enqueue", "-q", "b", "--key", "k", "-o", "json"))
	if !a.Created || !b.Created || a.ID == b.ID {
		t.Errorf("%+v and %+v", a, b)
	}
}

func TestC033NearlyEqualKeys(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	keys := []string{"abc", " abc", "abc ", "ABC", "caf\u00e9", "cafe\u0301"}
	for _, key := range keys {
		if m := c.enqueued(key); !m.Created {
			t.Errorf("%q was taken for another", key)
		}
	}
	if got := pgValue[[]string](t, conn, "SELECT array_agg(idempotency_key ORDER BY id) FROM todos"); !slices.Equal(got, keys) {
		t.Errorf("stored %q", got)
	}
	line, err := json.Marshal(map[string]string{"key": " abc"})
	if err != nil {
		t.Fatal(err)
	}
	if got := decode[bulk](t, c.from(0, string(line)).out); got != (bulk{Duplicates: 1}) {
		t.Errorf("by line: %+v", got)
	}
}
