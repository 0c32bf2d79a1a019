//go:build unix

package cmd_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Eight workers, killed again and again without a word: every todo is done, none is lost, and the history tells of each lease
// that a killed worker held.
func TestWorkUnderKills(t *testing.T) {
	t.Parallel()
	todos, kills := 20_000, 24
	if testing.Short() {
		todos, kills = 2_000, 8
	}
	c, conn, _ := withDB(t)
	pgExec(t, conn, "INSERT INTO todos (queue, max_attempts) SELECT 'q', 1000 FROM generate_series(1, $1::int)", todos)
	started, killed := 0, []string{}
	start := func() *proc {
		started++
		// Idle for longer than a lease: fast workers have soon done all but what the killed ones hold.
		return c.start("todoctl", "work", "-q", "q", "--owner", fmt.Sprint("w", started), "--ttl", "5s", "--stream", "--batch", "20", "--idle", "8s", "--", "lines-child")
	}
	var workers, all []*proc
	for range 8 {
		workers = append(workers, start())
	}
	all = slices.Clone(workers)
	done := func() int { return pgValue[int](t, conn, "SELECT count(*) FROM todos WHERE state = 'done'") }
	// A kill for each share of the work that is done, so that they fall all over it, and on workers that hold leases.
	dice := rand.New(rand.NewPCG(1, 2))
	for len(killed) < kills {
		share := todos * (len(killed) + 1) / (kills + 2)
		waitUntil(t, fmt.Sprint(share, " done"), func() bool { return done() >= share })
		i := dice.IntN(len(workers))
		workers[i].tell(syscall.SIGKILL)
		workers[i].end()
		killed = append(killed, workers[i].Args[5])
		workers[i] = start()
		all = append(all, workers[i])
	}
	waitUntil(t, "the end", func() bool {
		for _, p := range workers {
			select {
			case <-p.done:
			default:
				return false
			}
		}
		return true
	})
	// What the last ones to be killed held may have outlasted the idle time of the others.
	expire(t, conn)
	last := c.run("work", "-q", "q", "--owner", "last", "--drain", "--stream", "--batch", "20", "--", "lines-child")
	if last.code != 0 {
		t.Errorf("exit %d\n%.2000s", last.code, last.err)
	}
	if n := done(); n != todos {
		t.Errorf("%d of %d are done", n, todos)
	}
	if n := pgValue[int](t, conn, `SELECT count(*) FROM todos t WHERE attempt <> lease_seq
		OR lease_seq <> 1 + (SELECT count(*) FROM todo_attempts a WHERE a.todo_id = t.id AND outcome IN ('taken over', 'expired'))`); n != 0 {
		t.Errorf("%d todos whose leases and history do not agree", n)
	}
	// Whoever lost a lease was killed, or says himself that he lost it: on a machine that is this busy he may have come too late.
	lost := map[string]bool{}
	for _, p := range all {
		for _, line := range strings.Split(p.errs.String(), "\n") {
			if rest, ok := strings.CutPrefix(line, "lost "); ok {
				lost[p.Args[5]+" "+strings.Fields(rest)[0]] = true
			}
		}
	}
	got, err := conn.Query(t.Context(), "SELECT owner, todo_id FROM todo_attempts")
	if err != nil {
		t.Fatal(err)
	}
	defer got.Close()
	crashes := 0
	for got.Next() {
		var owner, id string
		if err := got.Scan(&owner, &id); err != nil {
			t.Fatal(err)
		}
		if slices.Contains(killed, owner) {
			crashes++
		} else if !lost[owner+" "+id] {
			t.Errorf("%s lost %s and never knew", owner, id)
		}
	}
	if crashes < kills {
		t.Errorf("%d kills ended only %d leases", kills, crashes)
	}
}
