//go:build unix

package localpg

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// answers reports whether the postmaster of the pid file is the process that listens on its
// socket. The kernel tells who that is, so a pid that was given to another process since, or a
// socket file that a crash left behind, never passes.
func (p pidFile) answers() bool {
	if p.socket == "" {
		return false
	}
	c, err := net.DialTimeout("unix", p.socketFile(), time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		return false
	}
	pid := 0
	if err := raw.Control(func(fd uintptr) { pid = peerPID(int(fd)) }); err != nil {
		return false
	}
	return pid == p.pid || pid == peerUnknown
}

// alive reports whether the process of the pid file is a postmaster of dataDir. It may be one
// that does not answer: still starting, or its socket was swept away.
func (p pidFile) alive(dataDir string) bool {
	if p.answers() {
		return true
	}
	if errors.Is(unix.Kill(p.pid, 0), unix.ESRCH) {
		return false
	}
	return isPostmaster(p.pid, dataDir)
}

func sameDir(a, b string) bool {
	x, err := filepath.EvalSymlinks(a)
	if err != nil {
		return false
	}
	y, err := filepath.EvalSymlinks(b)
	return err == nil && x == y
}

// Lock takes the lock file at path, made when missing, and waits for whoever holds it. The
// kernel drops the lock with the process, so none is ever left behind.
func Lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, denied(err, "open lock file")
	}
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return func() { _ = f.Close() }, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			_ = f.Close()
			return nil, denied(err, "lock %s", path)
		}
		if !pause(ctx, 10*time.Millisecond) {
			_ = f.Close()
			return nil, cause(ctx, "another todoctl holds "+path)
		}
	}
}

// pause waits, and reports whether it could wait to the end.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// lastLines returns the last n lines of what a file holds after offset.
func lastLines(path string, offset int64, n int) []string {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	const most = 64 << 10
	if st, err := f.Stat(); err == nil && st.Size()-offset > most {
		offset = st.Size() - most
	}
	b := make([]byte, most)
	k, _ := f.ReadAt(b, offset)
	lines := strings.Split(strings.TrimRight(string(b[:k]), "\n"), "\n")
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	return lines[max(0, len(lines)-n):]
}
