//go:build unix

package worker

import (
	"bufio"
	"fmt"
	"io"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// guardPause is between two looks of a guard at what it was told. To be woken for each command would cost a quick one a
// tenth of its time, and what was said waits in the pipe, also when the worker is gone.
const guardPause = 10 * time.Millisecond

// guard is a process that outlives the worker by a moment. When the worker is gone, however it went, it
// kills the process groups of the commands that still ran: the kernel kills a command with its worker
// (on Linux), but not what that command had started, which would go on with a todo that somebody else has.
type guard struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

// newGuard starts the guard: a path, then the arguments from the program's name on.
func newGuard(command []string) (*guard, error) {
	cmd := &exec.Cmd{Path: command[0], Args: command[1:], Env: []string{}, SysProcAttr: &syscall.SysProcAttr{Setsid: true}}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &guard{cmd, in}, nil
}

// add and drop tell which commands run. Writes this short are whole; a guard that is gone is no reason
// to stop working.
func (g *guard) add(group int)  { g.say("+", group) }
func (g *guard) drop(group int) { g.say("-", group) }

func (g *guard) say(what string, group int) {
	if g != nil {
		_, _ = fmt.Fprintf(g.in, "%s%d\n", what, group)
	}
}

// close lets the guard go. Every command has ended by then.
func (g *guard) close() {
	if g != nil {
		_ = g.in.Close()
		_ = g.cmd.Wait()
	}
}

// Guard reads which process groups run, and kills those that still do when there is nobody left who
// could tell.
func Guard(in io.Reader) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) // meant for the worker, which decides
	groups := map[int]bool{}
	for lines := bufio.NewScanner(&unhurried{in}); lines.Scan(); {
		line := lines.Text()
		if group, err := strconv.Atoi(line[min(1, len(line)):]); err == nil && group > 1 {
			if line[0] == '+' {
				groups[group] = true
			} else {
				delete(groups, group)
			}
		}
	}
	for group := range groups {
		_ = syscall.Kill(-group, syscall.SIGKILL)
	}
}

// unhurried reads now and then, and then all that there is.
type unhurried struct{ in io.Reader }

// Read pauses first.
func (u *unhurried) Read(p []byte) (int, error) {
	<-time.After(guardPause)
	return u.in.Read(p)
}
