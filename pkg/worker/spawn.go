//go:build unix

package worker

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// spawner starts commands from one thread that lives as long as the worker: on Linux a command is
// told to die with the thread that started it, and other threads of a Go program come and go.
type spawner struct {
	requests chan request
	gone     sync.WaitGroup
	average  atomic.Int64 // of how long commands run, in nanoseconds
}

type request struct {
	cmd  *exec.Cmd
	done chan error
}

func newSpawner() *spawner {
	s := &spawner{requests: make(chan request)}
	s.gone.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		for r := range s.requests {
			r.done <- r.cmd.Start()
		}
	})
	return s
}

// start starts a command, and returns our ends of its stdin, stdout, stderr and descriptor 3.
func (s *spawner) start(command, env []string) (c *child, ours []*os.File, err error) {
	var theirs []*os.File
	defer func() {
		closeFiles(theirs)
		if err != nil {
			closeFiles(ours)
		}
	}()
	for fd := range 4 {
		read, write, err := os.Pipe()
		if err != nil {
			return nil, ours, err
		}
		if fd == 0 { // stdin is the one that the command reads
			read, write = write, read
		}
		ours, theirs = append(ours, read), append(theirs, write)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env, cmd.SysProcAttr = env, attributes()
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = theirs[0], theirs[1], theirs[2], theirs[3:]
	r := request{cmd, make(chan error, 1)}
	s.requests <- r
	if err := <-r.done; err != nil {
		return nil, ours, err
	}
	return &child{cmd: cmd, stdin: ours[0], ended: make(chan struct{})}, ours, nil
}

// stop ends the thread. Every command has ended by then.
func (s *spawner) stop() {
	close(s.requests)
	s.gone.Wait()
}

// ran notes how long a command ran.
func (s *spawner) ran(d time.Duration) {
	old := s.average.Load()
	if old == 0 {
		s.average.Store(int64(d) + 1)
		return
	}
	s.average.Store(old + (int64(d)-old)/8)
}

// ahead is how many todos are worth claiming beforehand: as many as end within a moment. A long
// command has none waiting behind it that another worker could do meanwhile.
func (s *spawner) ahead(concurrency int) int {
	average := time.Duration(s.average.Load())
	if average <= 0 {
		return 0
	}
	return min(int(ahead/average)*concurrency, maxClaim)
}

// exitOf reads the state of a command that has ended.
func exitOf(state *os.ProcessState) exit {
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return exit{signal: status.Signal()}
	}
	return exit{code: state.ExitCode()}
}

// cannotRun says with which code a shell would tell that a command cannot be started.
func cannotRun(err error) *CannotRun {
	code := 126
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		code = 127
	}
	return &CannotRun{Code: code, Reason: err.Error()}
}
