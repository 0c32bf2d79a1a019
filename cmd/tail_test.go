//go:build unix

package cmd_test

import (
	"context"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

// seen is a transition as a script reads it.
type seen struct {
	At, ID, Queue, Kind, To, Owner, Outcome, Error string
	From                                           *string
	Attempt                                        int
	LeaseSeq                                       int `json:"lease_seq"`
}

func (s seen) String() string {
	from := "?"
	if s.From != nil {
		from = *s.From
	}
	return from + ">" + s.To
}

// moves are what was told of one todo.
func moves(t *testing.T, out, id string) string {
	t.Helper()
	var list []string
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		if s := (seen{}); line != "" {
			if s = decode[seen](t, line); s.ID == id {
				list = append(list, s.String())
			}
		}
	}
	return strings.Join(list, " ")
}

// following starts a tail and waits until it looks.
func (c *cli) following(t *testing.T, conn *pgx.Conn, args ...string) *proc {
	t.Helper()
	p := c.start(append([]string{"todoctl", "tail", "-o", "jsonl"}, args...)...)
	waitUntil(t, "the first look", func() bool {
		return pgValue[int](t, conn, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'todoctl tail' AND query LIKE '%changed since a moment%' AND state = 'idle'") == 1
	})
	return p
}

// TestTailFollowsEveryVerb moves todos by each verb and reads every transition, in order, also where
// several happened between two looks; told to end it ends in order.
func TestTailFollowsEveryVerb(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	old := c.ok("enqueue", "-q", "mail", "--assignee", "w", "--kind", "welcome", "1")
	p := c.following(t, conn)
	r := c.ok("claim", "-q", "mail", "-o", "receipt")
	c.ok("heartbeat", r)
	c.ok("release", r, "--error", "not now")
	c.ok("complete", c.ok("claim", "-q", "mail", "-o", "receipt"))
	dead := c.ok("enqueue", "-q", "mail", "--max-attempts", "2", "2")
	c.ok("fail", c.ok("claim", "-q", "mail", "-o", "receipt"), "--error", "timeout after 30 s", "--retry-in", "0s")
	c.ok("fail", c.ok("claim", "-q", "mail", "-o", "receipt"), "--error", "timeout after 31 s")
	waitUntil(t, "its death", func() bool { return strings.Contains(p.out.String(), "31 s") })
	c.ok("retry", dead)
	waitUntil(t, "its return", func() bool { return strings.HasSuffix(moves(t, p.out.String(), dead), "dead>pending") })
	c.ok("bump", dead, "--by", "1h")
	c.ok("bury", dead, "--reason", "customer left")
	late := c.ok("enqueue", "-q", "other", "--delay", "1h", "3")
	lost := c.ok("enqueue", "-q", "lost", "4")
	c.ok("claim", "-q", "lost", "--ttl", "1s")
	waitUntil(t, "its claim", func() bool { return strings.HasSuffix(moves(t, p.out.String(), lost), ">claimed") })
	pgExec(t, conn, "UPDATE todos SET lease_expires_at = now() - interval '1 s' WHERE id = $1", lost)
	c.ok("claim", "-q", "lost", "--owner", "second")
	waitUntil(t, "what was last", func() bool {
		return strings.Count(moves(t, p.out.String(), lost), ">claimed") == 2 && strings.HasSuffix(moves(t, p.out.String(), dead), ">dead") && moves(t, p.out.String(), late) != ""
	})
	p.tell(syscall.SIGTERM)
	got := p.end()
	if got.code != 0 || got.err != "" {
		t.Errorf("exit %d %s", got.code, got.err)
	}
	for id, want := range map[string]string{
		old:  "pending>claimed claimed>pending pending>claimed claimed>done",
		dead: "?>pending pending>claimed claimed>retrying retrying>claimed claimed>dead dead>pending pending>dead",
		late: "?>delayed",
		lost: "?>pending pending>claimed expired>claimed",
	} {
		if is := moves(t, got.out, id); is != want {
			t.Errorf("told %s, want %s", is, want)
		}
	}
	first := decode[seen](t, got.out)
	if first.Queue != "mail" || first.Kind != "welcome" || first.Owner != "w" || first.Attempt != 1 || first.LeaseSeq != 1 || first.At == "" {
		t.Errorf("the first: %+v", first)
	}
}

// TestTailFilters follows a part, and ends at its limit or its time.
func TestTailFilters(t *testing.T) {
	t.Parallel()
	c, _, _ := withDB(t)
	for _, q := range []string{"a", "b"} {
		c.ok("enqueue", "-q", q, "--kind", "k"+q, "1")
		c.ok("fail", c.ok("claim", "-q", q, "--owner", "w-"+q, "-o", "receipt"), "--owner", "w-"+q, "--dead", "--error", "no "+q)
	}
	for args, want := range map[string]string{
		"-q a -n 3":              "a:pending a:claimed a:dead",
		"--state dead -n 2":      "a:dead b:dead",
		"--held-by w-b -n 2":     "b:claimed b:dead",
		"--kind kb -n 3":         "b:pending b:claimed b:dead",
		"--error no.a --limit 2": "a:pending a:claimed",
	} {
		got := c.ok(append([]string{"tail", "--since", "1h", "--fields", "queue,to", "-o", "tsv"}, strings.Fields(args)...)...)
		if got = strings.ReplaceAll(strings.ReplaceAll(got, "\t", ":"), "\n", " "); got != want {
			t.Errorf("tail %s: %s, want %s", args, got, want)
		}
	}
	if got := c.ok("tail", "--since", "1h", "-n", "2", "--jq", ".to"); got != "pending\nclaimed" {
		t.Errorf("--jq: %q", got)
	}
	c.fails(124, "tail", "--timeout", "1s").says(t, "before the command was told to end")
	c.fails(2, "tail", "--until", "1h")
	c.fails(2, "tail", "--since", "2026-12-01T00:00:00Z")
	c.fails(2, "tail", "-n", "0")
}

// TestTailSeesLateCommits holds a transaction open over several looks, and others commit meanwhile.
func TestTailSeesLateCommits(t *testing.T) {
	t.Parallel()
	c, conn, url := withDB(t)
	late := c.ok("enqueue", "-q", "q", "1")
	other := pgtest.Connect(t, url)
	p := c.following(t, conn)
	open, err := other.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	pgExec(t, other, "UPDATE todos SET state = 'done', completed_at = now(), updated_at = now(), claimed_at = now(), owner = 'w', attempt = 1, lease_seq = 1 WHERE id = $1", late)
	begun := pgValue[string](t, conn, "SELECT pg_current_snapshot()::text")
	for i := range 5 {
		next := c.ok("enqueue", "-q", "q", "2")
		waitUntil(t, "the next", func() bool { return moves(t, p.out.String(), next) != "" })
		if i == 4 && pgValue[float64](t, conn, "SELECT extract(epoch FROM clock_timestamp() - min(xact_start))::float8 FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND datname = current_database()") < 4 {
			pgExec(t, conn, "SELECT pg_sleep(4)")
		}
	}
	if moves(t, p.out.String(), late) != "" {
		t.Fatalf("told before it was committed, at %s", begun)
	}
	if err := open.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the late one", func() bool { return moves(t, p.out.String(), late) == "pending>claimed claimed>done" })
	p.tell(syscall.SIGINT)
	if r := p.end(); r.code != 0 {
		t.Errorf("exit %d %s", r.code, r.err)
	}
}

// TestTailOutlastsAnOutage goes on where it was when the database is back.
func TestTailOutlastsAnOutage(t *testing.T) {
	t.Parallel()
	c, options, stop := ownServer(t)
	p := c.start("todoctl", "tail", "-o", "jsonl")
	waitUntil(t, "the first", func() bool { c.ok("enqueue", "-q", "q", "2"); return p.out.String() != "" })
	stop()
	waitUntil(t, "word of it", func() bool { return p.errs.String() != "" })
	startServer(t, options)
	id := c.ok("enqueue", "-q", "q", "3")
	waitUntil(t, "what came after", func() bool { return moves(t, p.out.String(), id) != "" })
	p.tell(syscall.SIGTERM)
	if r := p.end(); r.code != 0 || strings.Count(r.err, "\n") != 1 || !strings.Contains(r.err, "trying again") {
		t.Errorf("exit %d, stderr %q", r.code, r.err)
	}
}
