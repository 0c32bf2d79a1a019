//go:build unix

package cmd_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// child is the cases' test child, called with a mode.
func child(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("testdata/cases/C124-child.sh")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// alive says whether a process still runs; one that nobody has reaped does not.
func alive(pid int) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	state := strings.TrimSpace(string(out))
	return err == nil && state != "" && !strings.HasPrefix(state, "Z")
}

// pid waits for a command to write a process id into a file.
func (c *cli) pid(name string) int {
	c.t.Helper()
	n := 0
	waitUntil(c.t, "a process id in "+name, func() bool {
		_, err := fmt.Sscanf(c.wrote(name), "%d\n", &n)
		return err == nil
	})
	return n
}

// leader wraps a command so that it writes down which process it is, which is its group as well.
const leader = `echo $$ >leader; exec "$@"`

// groupEmpty says that no process of the group is left that runs.
func groupEmpty(t *testing.T, group int) bool {
	t.Helper()
	out, err := exec.Command("ps", "-e", "-o", "pgid=,stat=").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) == 2 && f[0] == strconv.Itoa(group) && !strings.HasPrefix(f[1], "Z") {
			return false
		}
	}
	return true
}

// The case has TERM first and KILL after the grace time. Here the grace time is given before TERM, so that a command may
// finish; KILL follows a second after TERM.
func TestCaseC124ChildIgnoresTerm(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled("a todo")
	p := c.start("todoctl", "work", "-q", "q", "--grace", "100ms", "--", "sh", "-c", leader, "sh", child(t), "ignore-term")
	group := c.pid("leader")
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if r := p.end(); r.code != 0 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	if !groupEmpty(t, group) {
		t.Error("the child lives on")
	}
	if s := rows(t, conn)[0]; s.Condition != "pending" || s.Attempt != 0 || s.History != "released the worker was told to end" {
		t.Errorf("%+v", s)
	}
}

func TestCaseC125GrandchildHoldsThePipe(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled("a todo")
	r := c.drain("--run-timeout", "2s", "--grace", "300ms", "--", "sh", "-c", leader, "sh", child(t), "grandchild")
	if r.code != 7 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	if group := c.pid("leader"); !groupEmpty(t, group) {
		t.Error("a process of the group is left")
	}
	if s := rows(t, conn)[0]; s.Condition != "retrying" || s.History != "failed timeout: ran longer than 2s" {
		t.Errorf("%+v", s)
	}
	// A command that ends by itself is not waited for any longer because of what it left behind: that may be meant.
	c.titled("another")
	c.ok("bump", "-q", "q", "--front", "--all", "--yes", "--quiet")
	if r := c.drain("--", "sh", "-c", leader, "sh", child(t), "wrapper"); r.code != 0 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	group := c.pid("leader")
	if groupEmpty(t, group) {
		t.Error("what the command left behind was killed")
	}
	_ = syscall.Kill(-group, syscall.SIGKILL)
	if s := rows(t, conn)[1]; s.Condition != "done" {
		t.Errorf("%+v", s)
	}
}

// The flood goes through; the memory that it takes is bounded.
func TestCaseC127ChildFloodsStderr(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled("a todo")
	p := c.start("todoctl", "work", "-q", "q", "--drain", "--result", "stdout", "--", "sh", "-c", `"$0" flood-err && touch flooded; `+untilFile("go"), child(t))
	waitUntil(t, "the flood", func() bool { return c.made("flooded") })
	if peak, known := memory(p.Process.Pid); known && peak > 100<<10 {
		t.Errorf("%d KiB", peak)
	}
	c.touch("go")
	r := p.end()
	if r.code != 0 {
		t.Fatalf("exit %d\n%.500s", r.code, r.err)
	}
	if n := strings.Count(r.err, "e"); n < 50_000_000 {
		t.Errorf("only %d bytes came through", n)
	}
	if s := rows(t, conn)[0]; s.Condition != "done" || *s.Result != `{"ok": true}` {
		t.Errorf("%+v", s)
	}
}

// memory is the most that a process had in memory so far, in KiB, where the system tells.
func memory(pid int) (peak int, known bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	_, err = fmt.Sscan(rest, &peak)
	return peak, err == nil
}

// The table of exit codes in one run after the other, as the case has it. The others are in TestWorkEndOfTheCommandDecides.
func TestCaseC130ExitCodes(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled("0", "1", "2", "64", "75", "100", "126", "127", "255")
	codes := map[int]int{}
	for range 3 { // 126 and 127 end the worker; a todo of theirs stands first again, so it is taken away
		r := c.drain("--", "sh", "-c", `exec "$0" exit "$TODO_TITLE"`, child(t))
		codes[r.code]++
		pgExec(t, conn, `UPDATE todos SET run_at = now() + interval '1 day'
			WHERE state = 'pending' AND EXISTS (SELECT 1 FROM todo_attempts a WHERE a.todo_id = id AND a.error LIKE 'exit%')`)
	}
	if codes[126] != 1 || codes[127] != 1 || codes[7] != 1 {
		t.Errorf("the worker's own exit codes: %v", codes)
	}
	want := []string{"done 1 ", "retrying 1 failed exit 1", "retrying 1 failed exit 2", "retrying 1 failed exit 64", "retrying 1 failed exit 75",
		"retrying 1 failed exit 100", "delayed 0 released exit 126", "delayed 0 released exit 127", "retrying 1 failed exit 255"}
	for i, s := range rows(t, conn) {
		// Those that were claimed beforehand when the worker had to end were given back untouched.
		past := strings.TrimPrefix(strings.ReplaceAll(s.History, "released the worker ended before it came to this", ""), "; ")
		if got := fmt.Sprintf("%s %d %s", s.Condition, s.Attempt, strings.TrimPrefix(past, "; ")); got != want[i] {
			t.Errorf("%s, want %s", got, want[i])
		}
	}
	c.titled("killself")
	c.drain("--", child(t), "killself")
	if s := rows(t, conn)[9]; s.History != "expired signal 9 (killed)" {
		t.Errorf("%+v", s)
	}
	// Trouble with the database has codes of its own.
	c.on("postgres://nobody@127.0.0.1:1/x").fails(8, "work", "-q", "q", "--drain", "--", "true")
}

// A command that runs for several leases is run once; nobody else sees its todo meanwhile.
func TestCaseC131HeartbeatWhileTheChildRuns(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	c.titled("a todo")
	p := c.start("todoctl", "work", "-q", "q", "--ttl", "2s", "--drain", "--", "sh", "-c", "echo run >>runs; "+untilFile("go"))
	waitUntil(t, "a run", func() bool { return c.wrote("runs") != "" })
	first := *rows(t, conn)[0].Lease
	// A lease that is over would be seen by the claim of the other worker, and by reap.
	for rows(t, conn)[0].Lease.Sub(first) < 5*time.Second {
		if r := c.drain("--owner", "second", "--", "touch", "second"); r.code != 0 {
			t.Fatalf("exit %d\n%s", r.code, r.err)
		}
		if got := c.ok("reap", "-o", "json"); got != `{"requeued":0,"retried":0,"dead":0}` {
			t.Fatalf("reap %s", got)
		}
	}
	c.touch("go")
	if r := p.end(); r.code != 0 {
		t.Errorf("exit %d\n%s", r.code, r.err)
	}
	if s := rows(t, conn)[0]; s.Condition != "done" || s.LeaseSeq != 1 || c.wrote("runs") != "run\n" {
		t.Errorf("%+v after %q", s, c.wrote("runs"))
	}
}

// The case wakes the worker's whole group up; here the child is in a group of its own and goes on meanwhile, ends even.
func TestCaseC132WorkerSuspended(t *testing.T) {
	t.Parallel()
	for _, ends := range []bool{false, true} { // whether the child ends while the worker sleeps
		c, conn, _ := withDB(t)
		c.titled("a todo")
		p := c.start("todoctl", "work", "-q", "q", "--ttl", "1s", "--owner", "A", "--max", "2", "--grace", "100ms", "--",
			"sh", "-c", `echo $$ >"$TODO_TITLE"; echo '{"result":"by A"}' >&3; `+untilFile("go"))
		pid := c.pid("a todo")
		if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		// The lease runs out by itself, then another worker has the todo.
		waitUntil(t, "the end of the lease", func() bool { return rows(t, conn)[0].Condition == "expired" })
		c.ok("reap", "--quiet")
		c.ok("claim", "-q", "q", "--owner", "B", "--quiet")
		if ends {
			c.touch("go")
			waitUntil(t, "the end of the child", func() bool { return !alive(pid) })
		}
		if err := p.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		waitUntil(t, "the end of the child", func() bool { return !alive(pid) })
		c.touch("go")
		c.titled("next")
		r := p.end()
		if r.code != 0 {
			t.Errorf("exit %d\n%s", r.code, r.err)
		}
		all := rows(t, conn)
		if s := all[0]; s.Condition != "claimed" || *s.Owner != "B" || s.LeaseSeq != 2 || s.Result != nil || s.History != "expired lease expired" {
			t.Errorf("%+v", s)
		}
		if all[1].Condition != "done" {
			t.Errorf("the worker did not go on: %+v", all[1])
		}
		holds(t, r.err, "lost "+all[0].ID+" q attempt 1 ", "attempt 2 is B's since ")
	}
}

func TestCaseC134PayloadTooBigForArguments(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	payload := strconv.Quote(strings.Repeat("x", 2_000_000))
	line, err := json.Marshal(map[string]any{"queue": "q", "payload": json.RawMessage(payload)})
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"echo", "noread"} {
		if r := c.pipe(string(line), "enqueue", "--from", "-", "--quiet"); r.code != 0 {
			t.Fatalf("exit %d\n%s", r.code, r.err)
		}
		r := c.drain("--", "sh", "-c", `"$0" "$1" >out`, child(t), mode)
		if r.code != 0 {
			t.Errorf("%s: exit %d\n%.500s", mode, r.code, r.err)
		}
		if want := map[string]string{"echo": payload, "noread": ""}[mode]; c.wrote("out") != want {
			t.Errorf("%s: the child had %d bytes, want %d", mode, len(c.wrote("out")), len(want))
		}
	}
	for _, s := range rows(t, conn) {
		if s.Condition != "done" {
			t.Errorf("%+v", s)
		}
	}
}
