//go:build unix

package localpg

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/todoctl/todoctl/pkg/todo"
)

// DefaultOptions returns the options of the user's own server: its data lies in
// $XDG_STATE_HOME/todoctl/pg/default, by default under ~/.local/state, for root under /var/lib.
func DefaultOptions(getenv func(string) string) (Options, error) {
	o := Options{Durable: true, Getenv: getenv}
	state := o.getenv("XDG_STATE_HOME")
	switch {
	case state != "":
		if !filepath.IsAbs(state) {
			return o, todo.Errorf(todo.CodeUsage, "XDG_STATE_HOME is %q, which is not an absolute path", state)
		}
	case os.Geteuid() == 0:
		state = "/var/lib" // the server's user cannot enter root's home
	default:
		home := o.getenv("HOME")
		if home == "" {
			if u, err := user.Current(); err == nil {
				home = u.HomeDir
			}
		}
		if !filepath.IsAbs(home) {
			return o, todo.Errorf(todo.CodeUsage, "there is no home directory to keep the local server's data in").
				WithHint("set XDG_STATE_HOME to a directory of your own")
		}
		state = filepath.Join(home, ".local", "state")
	}
	o.DataDir = filepath.Join(state, "todoctl", "pg", "default")
	return o, nil
}

// RunningURL returns the URL of the user's own server when it runs. It reads one file and knocks
// at one socket, since every command that was told of no database asks for it.
func RunningURL(getenv func(string) string) (string, bool) {
	o, err := DefaultOptions(getenv)
	if err != nil {
		return "", false
	}
	p, ok := readPidFile(o.DataDir)
	if !ok || !p.ready || !p.answers() {
		return "", false
	}
	return socketURL(p.socket, Database), true
}

// socketDirPrefix begins the name of every socket directory that was not named by the caller.
const socketDirPrefix = "todoctl-pg-"

// maxSocketPath is how long the path of a Unix socket may be: the kernel's field, less the NUL.
func maxSocketPath(goos string) int {
	if goos == "linux" {
		return 107
	}
	return 103
}

func socketPathFits(dir string) bool {
	return len(filepath.Join(dir, ".s.PGSQL."+port)) <= maxSocketPath(runtime.GOOS)
}

// makeSocketDir makes the directory of the socket: the one that was named, else the first of a
// few short ones that fits. The name follows from the data directory, so that two servers of one
// user never meet.
func (o Options) makeSocketDir(who *account) (string, error) {
	if o.SocketDir != "" {
		if !socketPathFits(o.SocketDir) {
			return "", todo.Errorf(todo.CodeUsage,
				"socket directory %s is too long: with the socket's name it has %d bytes, and %d is the most",
				o.SocketDir, len(filepath.Join(o.SocketDir, ".s.PGSQL."+port)), maxSocketPath(runtime.GOOS)).
				WithHint("name a shorter one")
		}
		if err := who.canEnter(o.SocketDir); err != nil {
			return "", err
		}
		return o.SocketDir, who.mkdir(o.SocketDir)
	}
	sum := sha256.Sum256([]byte(filepath.Clean(o.DataDir)))
	name := socketDirPrefix + hex.EncodeToString(sum[:4])
	var last error = todo.Errorf(todo.CodeUsage, "every directory for the socket has too long a name, or a comma in it").
		WithHint("set XDG_RUNTIME_DIR to a short one")
	for _, base := range o.socketBases() {
		dir := filepath.Join(base, name)
		if !socketPathFits(dir) || strings.Contains(dir, ",") {
			continue
		}
		if last = who.makeSocketDir(base, dir); last == nil {
			return dir, nil
		}
	}
	return "", last
}

func (a *account) makeSocketDir(base, dir string) error {
	if err := a.canEnter(base); err != nil {
		return err
	}
	if err := a.mkParents(base); err != nil {
		return err
	}
	if err := ownDir(base, os.Geteuid(), 0o022); err != nil {
		return err
	}
	if err := a.canEnter(dir); err != nil {
		return err
	}
	return a.mkdir(dir)
}

// socketBases lists where socket directories may go. Root takes nothing from its environment
// here: sudo may have brought along directories of somebody else.
func (o Options) socketBases() []string {
	uid := strconv.Itoa(os.Geteuid())
	if uid == "0" {
		return []string{"/run/todoctl", "/tmp/todoctl-0"}
	}
	var bases []string
	if dir := o.getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		bases = append(bases, filepath.Join(dir, "todoctl"))
	}
	if dir := o.getenv("TMPDIR"); filepath.IsAbs(dir) {
		bases = append(bases, filepath.Join(dir, "todoctl-"+uid))
	}
	return append(bases, "/tmp/todoctl-"+uid)
}
