//go:build unix

package worker

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	killAfter = time.Second            // from TERM to KILL
	lingering = 250 * time.Millisecond // what a grandchild that kept a pipe open may still say
	maxLine   = 1 << 20                // of an answer on descriptor 3 or stdout
)

// child is a running command.
type child struct {
	cmd    *exec.Cmd
	stdin  *os.File
	ended  chan struct{} // closed when it has ended and was heard out
	exit   exit          // valid then
	errors tail          // the end of its stderr
	last   string        // the last line of its stdout

	stopping sync.Once
}

// start starts the command with these variables. answers gets the lines of descriptor 3, and with
// stdoutAnswers those of stdout; the other lines go to the worker's stderr.
func (w *Worker) start(env []string, stdoutAnswers bool, answers func(line []byte, tooLong bool)) (*child, error) {
	in, inParent, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := &child{stdin: inParent, ended: make(chan struct{})}
	var theirs, ours []*os.File
	for range 3 {
		r, end, err := os.Pipe()
		if err != nil {
			closeAll(append(append(ours, theirs...), in, inParent)...)
			return nil, err
		}
		ours, theirs = append(ours, r), append(theirs, end)
	}
	c.cmd = exec.Command(w.opt.Command[0], w.opt.Command[1:]...)
	c.cmd.Env = append(append([]string{}, w.opt.Env...), env...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr, c.cmd.ExtraFiles = in, theirs[0], theirs[1], theirs[2:]
	c.cmd.SysProcAttr = attributes()
	err = w.spawn.start(c.cmd)
	closeAll(append(theirs, in)...)
	if err != nil {
		closeAll(append(ours, inParent)...)
		return nil, err
	}
	var heard sync.WaitGroup
	heard.Go(func() {
		lines(ours[0], func(line []byte, tooLong bool) {
			if stdoutAnswers {
				answers(line, tooLong)
				return
			}
			if w.opt.StdoutResult && len(line) > 0 && !tooLong {
				c.last = string(line)
			}
			w.pass(line)
		})
	})
	heard.Go(func() {
		lines(ours[1], func(line []byte, _ bool) { c.errors.add(line); w.pass(line) })
	})
	heard.Go(func() { lines(ours[2], answers) })
	go c.see(ours, &heard)
	return c, nil
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
		for _, f := range ours {
			_ = f.SetReadDeadline(time.Now()) // ends the readers; what was read counts
		}
		<-silent
	}
	closeAll(append(ours, c.stdin)...)
	close(c.ended)
}

// feedAll writes the payload to the command's stdin and closes it. A command that does not read it
// is not a failure.
func (c *child) feedAll(payload []byte) {
	go func() {
		_, _ = c.stdin.Write(payload)
		_ = c.stdin.Close()
	}()
}

// stop ends the command's whole process group: TERM, and KILL after a while.
func (c *child) stop(patience time.Duration) {
	c.stopping.Do(func() {
		c.signal(syscall.SIGTERM)
		go func() {
			select {
			case <-c.ended:
			case <-time.After(patience):
			}
			c.signal(syscall.SIGKILL) // also what the command left behind in its group
		}()
	})
}

func (c *child) signal(sig syscall.Signal) { _ = syscall.Kill(-c.cmd.Process.Pid, sig) }

// pass hands a line of a command on to the worker's stderr.
func (w *Worker) pass(line []byte) {
	_, _ = w.opt.Stderr.Write(append(line[:len(line):len(line)], '\n'))
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// lines calls f for each line. One that is too long comes in pieces, each of them marked.
func lines(r io.Reader, f func(line []byte, tooLong bool)) {
	var line []byte
	long := false
	buffer := make([]byte, 8<<10)
	for {
		n, err := r.Read(buffer)
		rest := buffer[:n]
		for len(rest) > 0 {
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				line = append(line, rest...)
				break
			}
			line = append(line, rest[:end]...)
			rest = rest[end+1:]
			f(line, long)
			line, long = line[:0], false
		}
		if len(line) > maxLine {
			f(line, true)
			line, long = line[:0], true
		}
		if err != nil {
			if len(line) > 0 {
				f(line, long)
			}
			return
		}
	}
}
