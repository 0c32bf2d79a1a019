//go:build unix

package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/todoctl/todoctl/pkg/localpg"
)

// home is the directory of one test binary's server, and the watcher that removes it.
type home struct {
	dir   string
	lock  *os.File // held as long as the binary or its watcher lives
	leash *os.File // our end of the pipe that the watcher reads
	watch *exec.Cmd
}

// startServer starts a server on a copy of the cached data directory.
func startServer(ctx context.Context) (*home, *localpg.Server, error) {
	sweep(ctx)
	h, err := newHome()
	if err != nil {
		return nil, nil, err
	}
	o := localpg.Options{
		DataDir:   filepath.Join(h.dir, "data"),
		SocketDir: filepath.Join(h.dir, "s"),
		Getenv:    os.Getenv,
	}
	if err := seed(ctx, o); err != nil {
		h.remove()
		return nil, nil, err
	}
	s, err := localpg.Start(ctx, o)
	if err != nil {
		h.remove()
		return nil, nil, err
	}
	return h, s, nil
}

// seed makes the data directory as a copy of one that initdb made once for all test binaries.
// The lock makes the others wait for the first.
func seed(ctx context.Context, o localpg.Options) error {
	cache, err := cacheDir()
	if err != nil {
		return err
	}
	unlock, err := localpg.Lock(ctx, filepath.Join(cache, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	bin, err := localpg.Find(ctx, o)
	if err != nil {
		return err
	}
	key := sha256.Sum256([]byte(strings.Join(append(o.InitArgs(), bin.Dir, bin.Version), "\x00")))
	name := "initdb-" + hex.EncodeToString(key[:8])
	o.Seed = filepath.Join(cache, name)
	if _, err := os.Stat(o.Seed); errors.Is(err, os.ErrNotExist) {
		// Of other versions; nobody reads them while we hold the lock.
		old, _ := filepath.Glob(filepath.Join(cache, "initdb-*"))
		for _, dir := range old {
			if err := os.RemoveAll(dir); err != nil {
				return err
			}
		}
		made := localpg.Options{DataDir: o.Seed, BinDir: bin.Dir, Getenv: o.Getenv}
		if err := localpg.Init(ctx, made); err != nil {
			return err
		}
	}
	return localpg.Init(ctx, o)
}

// cacheDir returns a directory for the cache. Root's own cache directory cannot be entered by the
// server's user, which runs initdb.
func cacheDir() (string, error) {
	if os.Geteuid() != 0 {
		if dir, err := os.UserCacheDir(); err == nil {
			dir = filepath.Join(dir, "todoctl-pgtest")
			if os.MkdirAll(dir, 0o700) == nil {
				return dir, nil
			}
		}
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("todoctl-pgtest-cache-%d", os.Geteuid()))
	if err := os.Mkdir(dir, 0o711); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return dir, private(dir)
}

// private refuses a directory that somebody else put into a place where anybody may.
func private(dir string) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !st.IsDir() || !ok || int(sys.Uid) != os.Geteuid() || st.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is not a directory of our own", dir)
	}
	return nil
}

// base is where test servers live: memory, where there is room for it.
func base() string {
	const room = 1 << 30
	var st unix.Statfs_t
	if unix.Statfs("/dev/shm", &st) == nil && uint64(st.Bavail)*uint64(st.Bsize) > room &&
		unix.Access("/dev/shm", unix.W_OK|unix.X_OK) == nil {
		return "/dev/shm"
	}
	return os.TempDir()
}

func prefix() string { return fmt.Sprintf("todoctl-pgtest-%d-", os.Geteuid()) }

// watcher reads its standard input. A line is the word that all is clean; without one the test
// binary is gone, and what it left is stopped and removed. It looks a while for postmaster.pid:
// the binary may have died in the instant of starting the server.
const watcher = `
trap '' HUP INT TERM
if read -r word; then exit 0; fi
i=0
while [ ! -s "$1/data/postmaster.pid" ] && [ -d "$1/data" ] && [ $i -lt 20 ]; do i=$((i+1)); sleep 0.1; done
if read -r pid rest <"$1/data/postmaster.pid"; then
	kill -QUIT "$pid"
	i=0
	while kill -0 "$pid" && [ $i -lt 100 ]; do i=$((i+1)); sleep 0.05; done
	kill -KILL "$pid"
fi
rm -rf -- "$1"
`

// newHome makes the directory, locked before it has a name that sweep looks for, and starts the
// watcher before anything can be left behind.
func newHome() (*home, error) {
	tmp, err := os.MkdirTemp(base(), ".new-"+prefix())
	if err != nil {
		return nil, err
	}
	h := &home{dir: filepath.Join(filepath.Dir(tmp), strings.TrimPrefix(filepath.Base(tmp), ".new-"))}
	if err := h.open(tmp); err != nil {
		_ = os.RemoveAll(tmp)
		_ = os.RemoveAll(h.dir)
		return nil, err
	}
	return h, nil
}

func (h *home) open(tmp string) error {
	// The server's user has to pass, whatever the umask.
	if err := os.Chmod(tmp, 0o711); err != nil {
		return err
	}
	var err error
	if h.lock, err = os.OpenFile(filepath.Join(tmp, "lock"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if err := unix.Flock(int(h.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	if err := os.Rename(tmp, h.dir); err != nil {
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	h.leash = w
	h.watch = exec.Command("/bin/sh", "-c", watcher, "pgtest-watcher", h.dir)
	h.watch.Dir, h.watch.Env = "/", []string{"PATH=/usr/bin:/bin"}
	h.watch.Stdin = r
	h.watch.ExtraFiles = []*os.File{h.lock}
	h.watch.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is not for it
	return h.watch.Start()
}

// remove removes the directory of a server that has ended, and sends the watcher home.
func (h *home) remove() {
	_ = os.RemoveAll(h.dir)
	_, _ = h.leash.WriteString("done\n")
	_ = h.leash.Close()
	_ = h.watch.Wait()
	_ = h.lock.Close()
}

// sweep ends what a binary left behind whose watcher was killed as well: its directory is there,
// and nobody holds its lock.
func sweep(ctx context.Context) {
	left, _ := filepath.Glob(filepath.Join(base(), prefix()+"*"))
	for _, dir := range left {
		if private(dir) != nil {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|unix.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			if s, err := localpg.Attach(ctx, localpg.Options{DataDir: filepath.Join(dir, "data")}); err == nil {
				_ = s.Kill(ctx)
			}
			cancel()
			_ = os.RemoveAll(dir)
		}
		_ = f.Close()
	}
}
