//go:build unix

package worker

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	killAfter = time.Second            // from TERM to KILL
	lingering = 250 * time.Millisecond // what a grandchild that kept a pipe open may still say
)

// child is a running command.
type child struct {
	cmd   *exec.Cmd
	stdin *os.File
	ended chan struct{} // closed when it has ended and was heard out
	exit  exit          // valid then
	said  tail          // the end of its stderr

	mu     sync.Mutex
	kill   *time.Timer // runs once the command was told to end
	killAt time.Time
}

// start starts the command with these variables. answers gets the lines of descriptor 3; those of
// stdout go to out, which returns false for a line that is no answer. Such lines and those of stderr go
// on to the worker's stderr. Where the machine has no process or descriptor left it is tried again.
func (w *Worker) start(env []string, answers listener, out func(line []byte, tooLong bool) bool) (*child, error) {
	for pause := 50 * time.Millisecond; ; pause *= 2 {
		c, ours, err := w.spawn.start(w.opt.Command, slices.Concat(w.opt.Env, env))
		if err == nil {
			w.attach(c, ours, answers, out)
			return c, nil
		}
		if !scarce(err) || pause > 2*time.Second {
			return nil, err
		}
		select {
		case <-w.halt:
			return nil, err
		case <-time.After(pause):
		}
	}
}

// scarce says that a command could not be started for want of something that others may give back.
func scarce(err error) bool {
	return slices.ContainsFunc([]error{syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE, syscall.ETXTBSY},
		func(e error) bool { return errors.Is(err, e) })
}

// attach listens to a command that was started, and sees it to its end.
func (w *Worker) attach(c *child, ours []*os.File, answers listener, out func(line []byte, tooLong bool) bool) {
	w.guard.add(c.cmd.Process.Pid)
	var heard sync.WaitGroup
	heard.Go(func() {
		listen(ours[1], func(line []byte, tooLong bool) {
			if !out(line, tooLong) {
				w.pass(line)
			}
		})
	})
	heard.Go(func() { listen(ours[2], func(line []byte, _ bool) { c.said.add(line); w.pass(line) }) })
	heard.Go(func() { listen(ours[3], answers) })
	go func() {
		c.see(ours, &heard)
		w.guard.drop(c.cmd.Process.Pid)
		close(c.ended)
	}()
}

// see waits for the end of the command, then hears out what is still in its pipes, but not for as
// long as a grandchild keeps them open.
func (c *child) see(ours []*os.File, heard *sync.WaitGroup) {
	_ = c.cmd.Wait() // the state says how it ended
	c.exit = exitOf(c.cmd.ProcessState)
	silent := make(chan struct{})
	go func() { heard.Wait(); close(silent) }()
	select {
	case <-silent:
	case <-time.After(lingering):
		for _, f := range ours[1:] {
			_ = f.SetReadDeadline(time.Now()) // ends the readers; what is in the pipes counts
		}
		<-silent
	}
	closeFiles(ours)
	c.mu.Lock()
	if c.kill != nil { // it was told to end: so are those that it left behind
		c.kill.Stop()
		c.signal(syscall.SIGKILL)
	}
	c.mu.Unlock()
}

// feedAll writes the payload to the command's stdin and closes it. A command that does not read it
// is not a failure.
func (c *child) feedAll(payload []byte) {
	go func() {
		_, _ = c.stdin.Write(payload)
		_ = c.stdin.Close()
	}()
}

// stop ends the command's whole process group: TERM, and KILL after a while. A second call can only
// make that while shorter.
func (c *child) stop(patience time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := time.Now().Add(patience)
	if c.kill != nil && (c.killAt.Before(at) || !c.kill.Stop()) {
		return
	}
	c.signal(syscall.SIGTERM)
	c.killAt, c.kill = at, time.AfterFunc(patience, func() { c.signal(syscall.SIGKILL) })
}

func (c *child) signal(sig syscall.Signal) { _ = syscall.Kill(-c.cmd.Process.Pid, sig) }

// pass hands a line of a command on to the worker's stderr.
func (w *Worker) pass(line []byte) {
	_, _ = w.opt.Stderr.Write(append(line[:len(line):len(line)], '\n'))
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}
