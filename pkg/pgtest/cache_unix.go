//go:build unix

package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/todoctl/todoctl/pkg/localpg"
)

// prepare makes a data directory in a home, as a copy of the cached one.
func prepare(ctx context.Context, h *home) (localpg.Options, error) {
	o := localpg.Options{
		DataDir:   filepath.Join(h.dir, "data"),
		SocketDir: filepath.Join(h.dir, "s"),
		Getenv:    os.Getenv,
	}
	return o, seed(ctx, o)
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
			if os.MkdirAll(dir, 0o700) == nil && unix.Access(dir, unix.W_OK|unix.X_OK) == nil {
				return dir, nil
			}
		}
	}
	dir := filepath.Join(tempDir(), fmt.Sprintf("todoctl-pgtest-cache-%d", os.Geteuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	if err := private(dir); err != nil {
		return "", err
	}
	return dir, passable(dir)
}

// passable lets the server's user through a directory of root's, whatever the umask.
func passable(dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return os.Chmod(dir, 0o711)
}

// tempDir is TMPDIR, but for root /tmp when its TMPDIR is for root alone.
func tempDir() string {
	dir := os.TempDir()
	for up := dir; os.Geteuid() == 0; up = filepath.Dir(up) {
		if st, err := os.Stat(up); err != nil || st.Mode().Perm()&0o001 == 0 {
			return "/tmp"
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	return dir
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
