//go:build unix

package localpg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Stop ends the server in order: running transactions are rolled back, data is written out. A
// server that is gone already is no error. A socket directory that todoctl chose goes too.
func (s *Server) Stop(ctx context.Context) error {
	_, _, unlock, err := s.opts.enter(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return s.end(ctx, unix.SIGINT)
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
	return true, (&Server{opts: o, pid: p.pid, socket: p.socket}).end(ctx, unix.SIGINT)
}

func (s *Server) end(ctx context.Context, sig unix.Signal) error {
	if err := s.signal(ctx, sig); err != nil {
		return err
	}
	if strings.HasPrefix(filepath.Base(s.socket), socketDirPrefix) {
		_ = os.Remove(s.socket) // it is empty now; what is not empty stays
	}
	return nil
}

// Kill ends the server at once, as a crash would: the next start recovers. For tests.
func (s *Server) Kill(ctx context.Context) error { return s.signal(ctx, unix.SIGQUIT) }

// Kill ends the server whose data lies in dataDir at once, if one runs, in whatever state it is.
func Kill(ctx context.Context, dataDir string) error {
	p, ok := readPidFile(dataDir)
	if !ok || !p.alive(dataDir) {
		return nil
	}
	return (&Server{opts: Options{DataDir: dataDir}, pid: p.pid, socket: p.socket}).end(ctx, unix.SIGQUIT)
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
