//go:build unix

package localpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Start starts the server of these options, or attaches to it when it runs already, whatever
// settings it runs with. What is missing is made first: the data directory, the database todoctl
// in it, the socket directory. The server lives on when this process ends.
func Start(ctx context.Context, o Options) (*Server, error) {
	o, who, unlock, err := o.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if s, err := o.reattach(ctx); s != nil || err != nil {
		return s, err
	}
	bin, err := Find(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := o.init(ctx, who, bin); err != nil {
		return nil, err
	}
	if err := who.canEnter(o.DataDir); err != nil {
		return nil, err
	}
	socket, err := o.makeSocketDir(who)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		s, err := o.exec(ctx, who, bin, socket)
		// After a kill -9 of the postmaster its children need a moment to see that it is gone.
		if err == nil || !strings.Contains(err.Error(), "shared memory block") || try == 20 {
			return s, err
		}
		if !pause(ctx, 250*time.Millisecond) {
			return nil, cause(ctx, "the server did not start")
		}
	}
}

// enter checks the options, finds out who runs the server, and takes the lock that start, stop
// and init have in common.
func (o Options) enter(ctx context.Context) (Options, *account, func(), error) {
	if err := o.check(); err != nil {
		return o, nil, nil, err
	}
	// Where it leads is what gets replaced and compared, not the link.
	if real, err := filepath.EvalSymlinks(o.DataDir); err == nil {
		o.DataDir = real
	}
	who, err := serverAccount(o.DataDir)
	if err != nil {
		return o, nil, nil, err
	}
	if err := who.mkParents(filepath.Dir(o.DataDir)); err != nil {
		return o, nil, nil, err
	}
	unlock, err := Lock(ctx, o.lockFile())
	return o, who, unlock, err
}

// Attach returns the server of these options if it runs, else an error of the code unavailable.
func Attach(ctx context.Context, o Options) (*Server, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s, err := o.reattach(ctx)
	if s == nil && err == nil {
		return nil, todo.Errorf(todo.CodeUnavailable, "the local server does not run").
			WithHint("start it: todoctl local start").With("data_dir", o.DataDir)
	}
	return s, err
}

// reattach returns the server that is there, once it is ready; nil when there is none, which
// includes one that ended while it was waited for.
func (o Options) reattach(ctx context.Context) (*Server, error) {
	for silent := 0; ; {
		p, ok := readPidFile(o.DataDir)
		if !ok || !p.alive(o.DataDir) {
			return nil, nil
		}
		switch {
		case p.ready && p.answers():
			return &Server{opts: o, pid: p.pid, socket: p.socket, started: p.started, attached: true}, nil
		case p.ready && silent < 100:
			silent++ // it may just be ending
		case p.ready:
			return nil, todo.Errorf(todo.CodeUnavailable,
				"the local server runs as process %d, but does not answer on its socket %s", p.pid, p.socketFile()).
				WithHint("restart it: todoctl local stop; todoctl local start")
		}
		if !pause(ctx, 5*time.Millisecond) {
			return nil, cause(ctx, "the local server is starting up or shutting down")
		}
	}
}

// exec starts postgres itself rather than pg_ctl, which looks every 100 ms only, and waits until
// the server says that it is ready.
func (o Options) exec(ctx context.Context, who *account, bin Binaries, socket string) (*Server, error) {
	if err := dropStale(o.DataDir); err != nil {
		return nil, err
	}
	log, offset, err := openLog(o.LogFile())
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(bin.path("postgres"), append([]string{"-D", o.DataDir}, o.settings(socket)...)...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", serverEnv(bin.Dir), who.attr()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, denied(err, "start %s", bin.path("postgres"))
	}
	s := &Server{opts: o, pid: cmd.Process.Pid, socket: socket, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // the log says why; nobody else may reap our child
		close(s.exited)
	}()
	for {
		if p, ok := readPidFile(o.DataDir); ok && p.pid == s.pid && p.ready {
			s.started = p.started
			return s, nil
		}
		select {
		case <-s.exited:
			lines := lastLines(o.LogFile(), offset, 20)
			return nil, todo.Errorf(todo.CodeUnavailable, "the local server did not start: %s",
				telling(lines, "it ended without a word")).
				WithHint("its log is %s", o.LogFile()).With("log", lines)
		case <-ctx.Done():
			_ = unix.Kill(s.pid, unix.SIGQUIT)
			<-s.exited
			return nil, cause(ctx, "the server was not ready yet and was stopped again")
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// dropStale moves the postmaster.pid of a crash out of the way. PostgreSQL does so itself unless
// the pid was given to another process of the same user since; it then refuses to start for ever.
// The caller has made sure that no postmaster runs here.
func dropStale(dataDir string) error {
	path := filepath.Join(dataDir, "postmaster.pid")
	if err := os.Rename(path, path+".stale"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return denied(err, "move stale postmaster.pid away")
	}
	return nil
}

// openLog opens the server's log for appending, and returns where this start begins. A log that
// grew large is put aside first; one older log is kept.
func openLog(path string) (*os.File, int64, error) {
	const large = 8 << 20
	if st, err := os.Lstat(path); err == nil && st.Size() > large {
		if err := os.Rename(path, path+".1"); err != nil {
			return nil, 0, denied(err, "rotate log")
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, 0, denied(err, "open log")
	}
	st, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, 0, denied(err, "open log")
	}
	return f, st.Size(), nil
}

// Stop ends the server in order: running transactions are rolled back, data is written out. A
// server that is gone already is no error. A socket directory that todoctl chose goes too.
func (s *Server) Stop(ctx context.Context) error {
	_, _, unlock, err := s.opts.enter(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.end(ctx)
}

// Stop ends the server of these options, whatever state it is in, and reports whether there was one.
func Stop(ctx context.Context, o Options) (stopped bool, err error) {
	o, _, unlock, err := o.enter(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	p, ok := readPidFile(o.DataDir)
	if !ok || !p.alive(o.DataDir) {
		return false, nil
	}
	return true, (&Server{opts: o, pid: p.pid, socket: p.socket}).end(ctx)
}

func (s *Server) end(ctx context.Context) error {
	if err := s.signal(ctx, unix.SIGINT); err != nil {
		return err
	}
	if strings.HasPrefix(filepath.Base(s.socket), socketDirPrefix) {
		_ = os.Remove(s.socket) // it is empty now; what is not empty stays
	}
	return nil
}

// Kill ends the server at once, as a crash would: the next start recovers. For tests.
func (s *Server) Kill(ctx context.Context) error { return s.signal(ctx, unix.SIGQUIT) }

// Kill ends the server whose data lies in dataDir, if one runs, in whatever state it is.
func Kill(ctx context.Context, dataDir string) error {
	p, ok := readPidFile(dataDir)
	if !ok || !p.alive(dataDir) {
		return nil
	}
	s := &Server{opts: Options{DataDir: dataDir}, pid: p.pid, socket: p.socket}
	return s.Kill(ctx)
}

func (s *Server) signal(ctx context.Context, sig unix.Signal) error {
	for sent := false; s.running(); {
		if !sent {
			if err := unix.Kill(s.pid, sig); err != nil && !errors.Is(err, unix.ESRCH) {
				return denied(err, "stop process %d", s.pid)
			}
			sent = true
		}
		if !pause(ctx, 3*time.Millisecond) {
			return cause(ctx, fmt.Sprintf("process %d did not stop yet", s.pid))
		}
	}
	return nil
}

func (s *Server) running() bool {
	if s.exited != nil {
		select {
		case <-s.exited:
			return false
		default:
			return true
		}
	}
	// Not our child: the pid may be another process by now, so the data directory has to agree.
	p, ok := readPidFile(s.opts.DataDir)
	return ok && p.pid == s.pid && p.alive(s.opts.DataDir) || isPostmaster(s.pid, s.opts.DataDir)
}

// Status tells what is known about the server without touching it.
func (o Options) Status() (Status, error) {
	st := Status{State: StateStopped, DataDir: o.DataDir, Log: o.LogFile()}
	if err := o.check(); err != nil {
		return st, err
	}
	made, err := o.dataVersion()
	if err != nil {
		return st, err
	}
	if made != "" {
		st.Version = &made
	}
	p, ok := readPidFile(o.DataDir)
	if !ok || !p.alive(o.DataDir) {
		return st, nil
	}
	st.PID, st.StartedAt, st.SocketDir = &p.pid, &p.started, &p.socket
	switch {
	case !p.ready:
		st.State = StateStarting
	case p.answers():
		url := socketURL(p.socket, Database)
		st.State, st.URL = StateRunning, &url
	default:
		st.State = StateUnreachable
	}
	return st, nil
}
