package queue

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Many claimers at once, each on a connection of its own, take each todo once.
func TestManyClaimers(t *testing.T) {
	t.Parallel()
	const claimers, todos = 32, 10_000
	w := newWorld(t)
	if r, err := w.EnqueueMany(t.Context(), source(keyed("q", todos, 3)), BulkOptions{}); err != nil || r.Created != todos {
		t.Fatal(r, err)
	}
	var mu sync.Mutex
	taken := make(map[string]int, todos)
	var group sync.WaitGroup
	for i := range claimers {
		c := w.client()
		r := rand.New(rand.NewPCG(uint64(i), 4))
		group.Go(func() {
			for {
				got, err := c.Claim(t.Context(), ClaimParams{Queues: []string{"q"}, Owner: fmt.Sprint("o", i), TTL: time.Hour, Limit: 1 + r.IntN(100)})
				if todo.CodeOf(err) == todo.CodeEmpty {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, item := range got {
					taken[item.ID]++
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	for id, n := range taken {
		if n != 1 {
			t.Errorf("%s was claimed %d times", id, n)
		}
	}
	if len(taken) != todos {
		t.Errorf("%d of %d were claimed", len(taken), todos)
	}
	if once := w.text("SELECT count(*)::text FROM todos WHERE state = 'claimed' AND lease_seq = 1 AND attempt = 1"); once != fmt.Sprint(todos) {
		t.Errorf("%s have one lease", once)
	}
	sound(t.Context(), t, w.sql)
}

// A todo bumped to the front is the next, before one that was bumped there earlier, and though it was delayed.
func TestBumpToTheFront(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ids []string
	for _, title := range []string{"a", "b", "c"} {
		ids = append(ids, w.add("q", titled(title)))
	}
	ids = append(ids, w.add("q", titled("d"), delay(time.Hour)))
	for _, i := range []int{1, 3, 2} {
		w.done(w.Bump(t.Context(), ids[i:i+1], BumpParams{Front: true}))
	}
	var titles []string
	for range ids {
		titles = append(titles, w.takeOne("q", "x").Title)
	}
	if got := strings.Join(titles, ""); got != "cdba" {
		t.Errorf("claims came as %s", got)
	}
}

// Who asks again at once has the first answer that has something: a worker does not wait for two empty ones before
// it begins. Others get all that there is, up to their limit.
func TestShortAnswer(t *testing.T) {
	t.Parallel()
	for again, want := range map[bool]int{true: 1, false: 3} {
		w := newWorld(t)
		w.add("q")
		claims := 0
		c := w.spliced(func(sql string) string {
			if strings.HasPrefix(sql, "-- Claims the next todos of one queue") {
				claims++
			}
			return sql
		})
		got, err := c.Claim(t.Context(), ClaimParams{Queues: []string{"q"}, Owner: "a", TTL: time.Minute, Limit: 10, Again: again})
		if err != nil || len(got) != 1 || claims != want {
			t.Errorf("again %t: %d todos after %d statements, not 1 after %d, %v", again, len(got), claims, want, err)
		}
	}
}
