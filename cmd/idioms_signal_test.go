//go:build unix

package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// waiting returns once a claim of the bench waits for work, connected and listening to signals.
func (b *bench) waiting() {
	b.Helper()
	waitUntil(b.T, "a claim that waits", func() bool {
		return pgValue[int](b.T, b.conn, `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'todoctl claim'
			AND datname = current_database() AND state = 'idle'`) > 0
	})
}

// read returns a file of the bench's directory, or nothing where it is not there.
func (b *bench) read(name string) string {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(b.dir, name))
	if err != nil && !os.IsNotExist(err) {
		b.Fatal(err)
	}
	return string(text)
}

// TestIdiomLoopAndCtrlC interrupts a for loop as the terminal does, its whole process group: the claim
// dies of the signal and not with a status of its own, so that the shell stops the loop.
func TestIdiomLoopAndCtrlC(t *testing.T) {
	inEachShell(t, func(b *bench) {
		p := b.start(b.shell, "-c", `for i in 1 2 3; do echo $i >>rounds; todoctl claim -q mail --wait 1h; done; echo went on >after`)
		b.waiting()
		if err := syscall.Kill(-p.Process.Pid, syscall.SIGINT); err != nil {
			b.Fatal(err)
		}
		r := p.end()
		if status, ok := p.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGINT {
			b.Errorf("the shell ended with %v, not of the interrupt: %q", p.ProcessState, r.err)
		}
		if b.read("rounds") != "1\n" || b.read("after") != "" || r.out != "" || r.err != "" {
			b.Errorf("rounds %q, after %q, stdout %q, stderr %q", b.read("rounds"), b.read("after"), r.out, r.err)
		}
	})
}

// TestIdiomStatusOfCtrlC reads the status that a shell shows of an interrupted command: 130.
func TestIdiomStatusOfCtrlC(t *testing.T) {
	inEachShell(t, func(b *bench) {
		p := b.start(b.shell, "-c", `trap 'echo trapped' INT; todoctl claim -q mail --wait 1h; rc=$?; echo "status $rc"; exit $rc`)
		b.waiting()
		if err := syscall.Kill(-p.Process.Pid, syscall.SIGINT); err != nil {
			b.Fatal(err)
		}
		if r := p.end(); r.code != 130 || !strings.Contains(r.out, "trapped\n") || !strings.Contains(r.out, "status 130\n") || r.err != "" {
			b.Errorf("exit %d, stdout %q, stderr %q", r.code, r.out, r.err)
		}
	})
}

// TestIdiomTimeout ends a command by timeout(1) with its TERM: the command dies of that signal, 143.
func TestIdiomTimeout(t *testing.T) {
	inEachShell(t, func(b *bench) {
		b.wants(`timeout --preserve-status 1 todoctl claim -q mail --wait 1h`, 143, "", "")
		b.wants(`timeout 1 todoctl claim -q mail --wait 1h`, 124, "", "")
		p := b.start(b.shell, "-c", `todoctl claim -q mail --wait 1h & echo $! >pid; wait $!; exit $?`)
		b.waiting()
		if r := b.sh(b.shell, `kill -TERM "$(cat pid)"`); r.code != 0 {
			b.Fatal(r.err)
		}
		if r := p.end(); r.code != 143 || r.out != "" {
			b.Errorf("exit %d, stdout %q, stderr %q", r.code, r.out, r.err)
		}
	})
}

// TestIdiomBackgroundJob starts a claim in the background of a script, where shells ignore the
// interrupt: Ctrl-C ends the script, and the claim goes on and gets its todo.
func TestIdiomBackgroundJob(t *testing.T) {
	inEachShell(t, func(b *bench) {
		p := b.start(b.shell, "-c", `todoctl claim -q mail --wait 1h -o id >got 2>said & wait; echo went on >after`)
		b.waiting()
		if err := syscall.Kill(-p.Process.Pid, syscall.SIGINT); err != nil {
			b.Fatal(err)
		}
		p.end()
		if b.read("after") != "" {
			b.Error("the script went on after the interrupt")
		}
		b.waiting() // it is still there
		id := b.ok("enqueue", "-q", "mail")
		waitUntil(b.T, "the todo in the hands of the background job", func() bool { return b.read("got") != "" })
		if got := b.read("got"); got != id+"\n" || b.read("said") != "" {
			b.Errorf("got %q, want %s; it said %q", got, id, b.read("said"))
		}
	})
}
