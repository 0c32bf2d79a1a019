//go:build unix

package localpg

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/todoctl/todoctl/pkg/todo"
)

// account is the user that the server runs as when we are root; nil is ourselves.
type account struct {
	uid, gid int
	name     string
}

// serverAccount picks that user. The owner of an existing data directory comes first: the
// package that brings the user postgres may have been installed after the directory was made.
func serverAccount(dataDir string) (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	if st, err := os.Stat(dataDir); err == nil {
		if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Uid != 0 {
			a := &account{uid: int(sys.Uid), gid: int(sys.Gid), name: "uid " + strconv.Itoa(int(sys.Uid))}
			if u, err := user.LookupId(strconv.Itoa(a.uid)); err == nil {
				a.name = "user " + u.Username
			}
			return a, nil
		}
	}
	for _, name := range []string{"postgres", "_postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil && uid > 0 {
			return &account{uid: uid, gid: gid, name: "user " + name}, nil
		}
	}
	return nil, todo.Errorf(todo.CodeUnavailable,
		"PostgreSQL does not run as root, and there is neither a user postgres nor nobody").
		WithHint("make one: useradd --system postgres")
}

// attr takes a process out of our session, so that Ctrl-C in the shell does not reach it, and
// drops root's rights and groups.
func (a *account) attr() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Setsid: true}
	if a != nil {
		attr.Credential = &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
	}
	return attr
}

// own gives a file to the account.
func (a *account) own(path string) error {
	if a == nil {
		return nil
	}
	return os.Lchown(path, a.uid, a.gid)
}

// canEnter says which directory above path the account cannot pass: PostgreSQL itself reports no
// more than a permission that was denied somewhere.
func (a *account) canEnter(path string) error {
	if a == nil {
		return nil
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		st, err := os.Stat(dir)
		if err == nil {
			sys, _ := st.Sys().(*syscall.Stat_t)
			need := os.FileMode(0o001)
			switch {
			case sys != nil && int(sys.Uid) == a.uid:
				need = 0o100
			case sys != nil && int(sys.Gid) == a.gid:
				need = 0o010
			}
			if st.Mode().Perm()&need == 0 {
				return todo.Errorf(todo.CodeUsage, "%s cannot enter %s, and PostgreSQL does not run as root",
					a.name, dir).WithHint("as root keep the data under /var/lib, or set XDG_STATE_HOME to a directory that others may enter")
			}
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// mkdir makes a private directory for the account, and its parents, which under root the account
// must be able to pass through. A directory that exists must be the account's own and no link:
// what lies in /tmp may have been put there by somebody else.
func (a *account) mkdir(dir string) error {
	if err := a.mkParents(filepath.Dir(dir)); err != nil {
		return err
	}
	switch err := os.Mkdir(dir, 0o700); {
	case err == nil:
		if err := a.own(dir); err != nil {
			return denied(err, "hand over directory")
		}
		return nil
	case !os.IsExist(err):
		return denied(err, "make directory")
	}
	uid := os.Geteuid()
	if a != nil {
		uid = a.uid
	}
	return ownDir(dir, uid, 0o077)
}

// ownDir refuses a directory that is not uid's own, is a link, or is open to others.
func ownDir(dir string, uid int, open os.FileMode) error {
	st, err := os.Lstat(dir)
	if err != nil {
		return denied(err, "look at directory")
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !st.IsDir() || !ok || int(sys.Uid) != uid || st.Mode().Perm()&open != 0 {
		return todo.Errorf(todo.CodeDenied, "%s exists, but is not a private directory of the right user", dir).
			WithHint("look at it: ls -ld %s", dir)
	}
	return nil
}

// mkParents makes dir and what is missing above it: 0700 for ourselves; under root passable for
// the account, whatever the umask.
func (a *account) mkParents(dir string) error {
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		return nil
	}
	if up := filepath.Dir(dir); up != dir {
		if err := a.mkParents(up); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		if os.IsExist(err) {
			if st, err := os.Stat(dir); err == nil && st.IsDir() {
				return nil // somebody else was faster
			}
		}
		return denied(err, "make directory")
	}
	if a != nil {
		if err := os.Chmod(dir, 0o711); err != nil {
			return denied(err, "open directory to %s", a.name)
		}
	}
	return nil
}
