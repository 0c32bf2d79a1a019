//go:build unix

package localpg

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Init makes the data directory, by initdb or as a copy of o.Seed, unless it exists. It starts no
// server.
func Init(ctx context.Context, o Options) error {
	o, who, unlock, err := o.enter(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	bin, err := Find(ctx, o)
	if err != nil {
		return err
	}
	return o.init(ctx, who, bin)
}

// init makes the data directory under another name and moves it into place when it is whole: an
// interrupted start leaves nothing that the next one would take for data.
func (o Options) init(ctx context.Context, who *account, bin Binaries) error {
	if made, err := o.dataVersion(); err != nil || made != "" {
		return err
	}
	if left, err := os.ReadDir(o.DataDir); err == nil && len(left) > 0 {
		return todo.Errorf(todo.CodeUsage, "%s is neither empty nor a PostgreSQL data directory", o.DataDir).
			WithHint("move it away; todoctl does not delete it")
	}
	if err := who.canEnter(o.DataDir); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(o.DataDir), "."+filepath.Base(o.DataDir)+".new-")
	if err != nil {
		return denied(err, "make data directory")
	}
	defer os.RemoveAll(tmp) // of the unfinished one; after the rename there is nothing left of it
	if err := who.own(tmp); err != nil {
		return denied(err, "hand over data directory")
	}
	if o.Seed != "" {
		err = copyTree(o.Seed, tmp, who)
	} else {
		err = o.initdb(ctx, who, bin, tmp)
	}
	if err != nil {
		return err
	}
	// The system's own rename takes the place of an empty directory, and of no other.
	if err := unix.Rename(tmp, o.DataDir); err != nil {
		return denied(err, "move data directory into place")
	}
	return nil
}

// InitArgs returns the arguments of initdb but for the directory. Local connections are trusted,
// since the socket lies in a directory that only its user can enter.
func (o Options) InitArgs() []string {
	args := []string{
		"--username=" + Superuser, "--encoding=UTF8", "--no-locale",
		"--auth-local=trust", "--auth-host=scram-sha-256",
	}
	if !o.Durable {
		args = append(args, "--no-sync", "--wal-segsize=1")
	}
	return args
}

func (o Options) initdb(ctx context.Context, who *account, bin Binaries, dir string) error {
	out, err := run(ctx, who, "", bin.path("initdb"), append(o.InitArgs(), "--pgdata="+dir)...)
	if err == nil {
		// In single-user mode, so that a data directory never exists without the database.
		out, err = run(ctx, who, "CREATE DATABASE "+Database+"\n",
			bin.path("postgres"), "--single", "-D", dir, "-c", "log_min_messages=error", "postgres")
		if err == nil && strings.Contains(out, "ERROR:") {
			err = errors.New("the database was not made") // single-user mode ends with 0 all the same
		}
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return cause(ctx, "the data directory was not made")
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return todo.Errorf(todo.CodeUnavailable, "initdb failed: %s", telling(lines, err.Error())).
		WithHint("try it by hand: %s %s --pgdata=DIR", bin.path("initdb"), strings.Join(o.InitArgs(), " ")).
		With("log", lines)
}

// run runs a program of PostgreSQL to its end as the server's user.
func run(ctx context.Context, who *account, stdin, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = "/", serverEnv(filepath.Dir(name)), who.attr()
	cmd.Stdin = strings.NewReader(stdin)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	// initdb has children of its own, and all of them have left our process group.
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	return out.String(), err
}

// serverEnv is the whole environment of the server's processes: nothing of the caller's, whose PG
// variables, locale or secrets would end up in a process that lives on.
func serverEnv(binDir string) []string {
	return []string{"PATH=" + binDir + ":/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"}
}

// telling returns the line of a log that says what went wrong.
func telling(lines []string, otherwise string) string {
	for _, mark := range []string{"PANIC:", "FATAL:", "error:", "ERROR:"} {
		for i := len(lines) - 1; i >= 0; i-- {
			if _, after, ok := strings.Cut(lines[i], mark); ok {
				return strings.TrimSpace(after)
			}
		}
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if s := strings.TrimSpace(lines[i]); s != "" {
			return s
		}
	}
	return otherwise
}

// copyTree copies a data directory of a server that does not run, and gives the copy to who.
func copyTree(from, to string, who *account) error {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		dst := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			if err := os.Mkdir(dst, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		case d.Type().IsRegular():
			if err := copyFile(path, dst); err != nil {
				return err
			}
		default:
			return &fs.PathError{Op: "copy", Path: path, Err: syscall.EINVAL}
		}
		return who.own(dst)
	})
	if err != nil {
		return denied(err, "copy data directory")
	}
	return nil
}

func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		_ = dst.Close()
		return err
	}
	return dst.Close()
}
