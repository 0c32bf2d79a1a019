package queue

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/localpg"
	"github.com/todoctl/todoctl/pkg/migrate"
	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/todo"
)

// How long chaos lasts.
const (
	chaosLength = 30 * time.Second
	chaosShort  = 3 * time.Second
)

// chaos is what its actors share: the leases and ids that they know of, most of them out of date, and
// what must never happen twice.
type chaos struct {
	*world
	end time.Time

	mu     sync.Mutex
	leases []todo.Todo       // as they were claimed
	ids    []string          // seen by anybody
	taken  map[string]string // receipt -> client that got it
	done   map[string]int    // id -> lease_seq that completed it
	count  map[string]int    // what succeeded
}

// remember keeps the latest leases.
func (x *chaos) remember(list ...todo.Todo) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, t := range list {
		if len(x.leases) > 200 {
			x.leases = x.leases[100:]
		}
		x.leases = append(x.leases, t)
		x.see(t.ID)
	}
}

func (x *chaos) see(id string) {
	if len(x.ids) > 400 {
		x.ids = x.ids[200:]
	}
	x.ids = append(x.ids, id)
}

// claimed checks what a claim returned: no lease is handed out twice, and nothing that is done.
func (x *chaos) claimed(owner string, list []todo.Todo) {
	x.remember(list...)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.count["claim"] += len(list)
	for _, t := range list {
		r := receipt(t).String()
		if other, twice := x.taken[r]; twice {
			x.t.Errorf("lease %s went to %s and to %s", r, other, owner)
		}
		x.taken[r] = owner
		if seq, over := x.done[t.ID]; over && t.LeaseSeq > seq {
			x.t.Errorf("lease %s of a todo that lease %d completed", r, seq)
		}
		if t.State != todo.Claimed || t.Owner == nil || *t.Owner != owner {
			x.t.Errorf("claim by %s returned %+v", owner, t)
		}
	}
}

// completed notes what was completed, once for each todo.
func (x *chaos) completed(list []Result, p LeaseParams) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range list {
		if r.Error != nil || r.Already {
			continue
		}
		x.count["complete"]++
		if seq, twice := x.done[r.ID]; twice {
			x.t.Errorf("%s was completed twice, the first time by lease %d", r.ID, seq)
		}
		if r.Receipt != nil {
			given, err := todo.ParseReceipt(*r.Receipt)
			if err != nil {
				x.t.Error(err)
			}
			x.done[r.ID] = given.Seq
			i := slices.IndexFunc(p.Receipts, func(g todo.Receipt) bool { return g.ID == r.ID && (g.Seq == 0 || g.Seq == given.Seq) })
			if i < 0 {
				x.t.Errorf("%s was completed, which is not what was asked for: %v", *r.Receipt, p.Receipts)
			}
		}
	}
}

func (x *chaos) counted(what string, list []Result) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range list {
		if r.Error == nil && !r.Already {
			x.count[what]++
		}
	}
}

func (x *chaos) add(what string, n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.count[what] += n
}

// leasesFor picks leases that somebody once had: most by receipt, some by bare id and name.
func (x *chaos) leasesFor(r *rand.Rand, n int) LeaseParams {
	x.mu.Lock()
	defer x.mu.Unlock()
	var p LeaseParams
	if len(x.leases) == 0 {
		return p
	}
	for range 1 + r.IntN(n) {
		// Often a recent one, so that it may still run, else any of the stale ones.
		i := r.IntN(len(x.leases))
		if r.IntN(2) == 0 {
			i = max(len(x.leases)-1-r.IntN(6), 0)
		}
		t := x.leases[i]
		p.Receipts = append(p.Receipts, receipt(t))
		p.Owner = *t.Owner
	}
	if r.IntN(4) == 0 {
		for i := range p.Receipts {
			p.Receipts[i].Seq = 0
		}
	}
	return p
}

func (x *chaos) someIDs(r *rand.Rand, n int) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	var list []string
	for range min(1+r.IntN(n), len(x.ids)) {
		list = append(list, x.ids[r.IntN(len(x.ids))])
	}
	return list
}

// TestChaos lets many clients do everything at once to few keys, with leases that last milliseconds
// and receipts that are mostly stale. No invariant may break, in any snapshot, and no error may reach a
// client or the server's log: a deadlock that a client tried again counts.
func TestChaos(t *testing.T) {
	length := chaosLength
	if testing.Short() {
		length = chaosShort
	}
	var log string
	server := pgtest.NewServer(t, func(o *localpg.Options) {
		// The detector is quick, so that a deadlock costs little and none goes by unseen.
		o.Settings = map[string]string{"deadlock_timeout": "50ms", "log_min_messages": "warning", "autovacuum_naptime": "5s"}
		log = o.LogFile()
	})
	cfg, err := dbconn.ParseConfig(dbconn.Options{URL: server.URL("postgres"), Source: "test", AppName: "chaos"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := migrate.New(cfg, "", nil).Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	x := &chaos{world: worldAt(t, server.URL("postgres")), end: time.Now().Add(length),
		taken: map[string]string{}, done: map[string]int{}, count: map[string]int{}}
	// Somebody always waits for one of the queues, so that transitions notify.
	x.exec("INSERT INTO waiters (name, who, until) VALUES ('q0', 'w', 'infinity')")
	var group sync.WaitGroup
	seed := uint64(0)
	for name, a := range actors() {
		for i := range a.many {
			c := x.client()
			seed++
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			group.Go(func() {
				for time.Now().Before(x.end) && !t.Failed() {
					if err := a.act(t.Context(), x, c, r); err != nil {
						t.Errorf("%s: %v", name, explain(err))
					}
				}
			})
		}
	}
	x.watch(t.Context())
	group.Wait()
	x.settle()
	for name := range actors() {
		if x.count[name] == 0 && length == chaosLength {
			t.Errorf("nothing was ever done by %s", name)
		}
	}
	t.Log(x.count)
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	// A bulk enqueue that meets another of the same key begins again, in a savepoint, ready for that.
	met := regexp.MustCompile(`(?m)^.*ERROR:  duplicate key .* "idx_todos_dedupe"\n.*DETAIL: .*\n.*STATEMENT:  -- Makes todos of the staged lines, of those with one key the first.*$(\n\t.*)*`)
	text = met.ReplaceAll(text, nil)
	for _, line := range regexp.MustCompile(`(?m)^.*(ERROR|FATAL|PANIC|deadlock).*$(\n\t.*|\n.*(DETAIL|CONTEXT|HINT).*)*`).FindAllString(string(text), 4) {
		t.Errorf("the server's log: %s", line)
	}
}

// watch looks at snapshots while the actors act.
func (x *chaos) watch(ctx context.Context) {
	conn := pgtest.Connect(x.t, x.url)
	seen := map[string]int{} // id -> lease_seq
	for time.Now().Before(x.end) && !x.t.Failed() {
		sound(ctx, x.t, conn)
		rows, err := conn.Query(ctx, "SELECT id, lease_seq, state FROM todos")
		if err != nil {
			x.t.Fatal(err)
		}
		now := map[string]int{}
		var id, state string
		var seq int
		if _, err := pgx.ForEachRow(rows, []any{&id, &seq, &state}, func() error {
			if seq < seen[id] {
				x.t.Errorf("%s went back from lease %d to %d", id, seen[id], seq)
			}
			now[id] = seq
			return nil
		}); err != nil {
			x.t.Fatal(err)
		}
		seen = now
		time.Sleep(50 * time.Millisecond)
	}
}

// settle lets everything end: all that is left can be claimed and completed.
func (x *chaos) settle() {
	ctx := x.t.Context()
	if _, err := x.Resume(ctx, queues(), nil); err != nil {
		x.t.Fatal(err)
	}
	x.exec("UPDATE todos SET lease_expires_at = now() WHERE state = 'claimed'")
	if _, err := x.Reap(ctx, nil, false, nil); err != nil {
		x.t.Fatal(err)
	}
	x.exec("UPDATE todos SET run_at = now() WHERE state = 'pending'")
	for {
		got, err := x.Claim(ctx, ClaimParams{Queues: queues(), Owner: "o0", TTL: time.Hour, Limit: 500})
		if todo.CodeOf(err) == todo.CodeEmpty {
			break
		}
		if err != nil {
			x.t.Fatal(err)
		}
		x.claimed("o0", got)
		list := x.world.done(x.Complete(ctx, lease(got...), nil))
		x.completed(list, lease(got...))
	}
	sound(ctx, x.t, x.sql)
	if left := x.text("SELECT id || ' ' || state FROM todos WHERE available_at <= now() AND (assignee IS NULL OR assignee = 'o0')"); left != "" {
		x.t.Errorf("left over: %s", left)
	}
}

func queues() []string { return []string{"q0", "q1", "q2"} }

// explain shows the cause of an error beside its message.
func explain(err error) string {
	s := err.Error()
	for e := err; e != nil; {
		u, ok := e.(interface{ Unwrap() error })
		if !ok {
			break
		}
		if e = u.Unwrap(); e != nil {
			s += fmt.Sprintf(" <- %T %v", e, e)
		}
	}
	return s
}
