//go:build unix

package localpg

import (
	"context"
	"errors"
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
	if err := dropStale(o.DataDir, socket); err != nil {
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

// dropStale moves what a crash left out of the way: postmaster.pid, and the lock file beside the
// socket if it is ours too. PostgreSQL does so itself unless there is a process of that pid: one
// that got the number since, or the dead postmaster that its parent does not reap, as happens in
// containers. It then refuses to start for ever. The caller knows that no postmaster runs here.
func dropStale(dataDir, socketDir string) error {
	path := filepath.Join(dataDir, "postmaster.pid")
	if err := os.Rename(path, path+".stale"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return denied(err, "move stale postmaster.pid away")
	}
	lock := filepath.Join(socketDir, ".s.PGSQL."+port+".lock")
	if b, err := os.ReadFile(lock); err == nil {
		if lines := strings.Split(string(b), "\n"); len(lines) > 1 && sameDir(lines[1], dataDir) {
			if err := os.Remove(lock); err != nil {
				return denied(err, "remove stale lock file")
			}
		}
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
