//go:build unix

package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// base is where test servers live: memory, where there is room for it.
func base() string {
	const room = 1 << 30
	var st unix.Statfs_t
	if unix.Statfs("/dev/shm", &st) == nil && float64(st.Bavail)*float64(st.Bsize) > room &&
		unix.Access("/dev/shm", unix.W_OK|unix.X_OK) == nil {
		return "/dev/shm"
	}
	return tempDir()
}

func prefix() string { return fmt.Sprintf("todoctl-pgtest-%d-", os.Geteuid()) }

// watcher reads its standard input. A line is the word that all is clean; without one the test
// binary is gone, and every server under its directory is stopped, then the directory removed. It
// looks twice: the binary may have died in the instant of starting one. A pid counts only if its
// arguments name the directory: the file outlives a crash, and the number may be another process
// by now, or one that has ended and that nobody reaps.
const watcher = `
trap '' HUP INT TERM
read -r _ && exit 0
home=$1
arguments() {
	if [ -d /proc/self ]; then cat "/proc/$1/cmdline"; else ps -ww -o command= -p "$1"; fi
}
running() {
	arguments "$1" | grep -qF -- "${home##*/}/"
}
for _ in 1 2; do
	find "$home" -name postmaster.pid -size +0 | while read -r file; do
		read -r pid <"$file" || continue
		running "$pid" && kill -QUIT "$pid"
		i=0
		while running "$pid" && [ $i -lt 100 ]; do i=$((i+1)); sleep 0.05; done
		running "$pid" && kill -KILL "$pid"
	done
	sleep 0.3
done
rm -rf -- "$home"
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
	if err := passable(tmp); err != nil {
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

// remove stops what still runs in the home, removes its directory, and sends the watcher away.
func (h *home) remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	// What does not end is left to the watcher, which is rougher.
	err := killAll(ctx, h.dir)
	if err == nil {
		err = os.RemoveAll(h.dir)
	}
	if err == nil {
		_, err = h.leash.WriteString("done\n")
	}
	return errors.Join(err, h.leash.Close(), h.watch.Wait(), h.lock.Close())
}

// killAll ends every server whose data lies under dir.
func killAll(ctx context.Context, dir string) error {
	var errs []error
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "postmaster.pid" {
			errs = append(errs, localpg.Kill(ctx, filepath.Dir(path)))
		}
		return nil // directories of a server that is just ending come and go
	})
	return errors.Join(errs...)
}

// sweep ends what a binary left behind whose watcher was killed as well: its directory is there,
// and nobody holds its lock.
func sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	left, _ := filepath.Glob(filepath.Join(base(), prefix()+"*")) // it can fail on a bad pattern only
	for _, dir := range left {
		if private(dir) != nil {
			continue
		}
		f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|unix.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && killAll(ctx, dir) == nil {
			_ = os.RemoveAll(dir) // the next sweep tries again
		}
		_ = f.Close()
	}
}
