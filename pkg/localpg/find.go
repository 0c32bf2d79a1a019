package localpg

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Binaries is one installation of PostgreSQL on this machine.
type Binaries struct {
	Dir     string
	Version string // as the server says it: "15.18"
	Major   int
}

func (b Binaries) path(name string) string { return filepath.Join(b.Dir, name) }

// Find returns the installation to use: the one that was named, else the newest one found, else,
// where the data directory exists, one of the major version that made it. No other can read it.
func Find(ctx context.Context, o Options) (Binaries, error) {
	made, err := o.dataVersion()
	if err != nil {
		return Binaries{}, err
	}
	found, err := o.installed(ctx, installGlobs())
	if err != nil {
		return Binaries{}, err
	}
	if made == "" {
		return found[0], nil
	}
	for _, b := range found {
		if strconv.Itoa(b.Major) == made {
			return b, nil
		}
	}
	return Binaries{}, todo.Errorf(todo.CodeUnavailable,
		"the data directory %s was made by PostgreSQL %s, but what is installed is PostgreSQL %s (%s)",
		o.DataDir, made, found[0].Version, found[0].Dir).
		WithHint("install PostgreSQL %s, or move the data with pg_upgrade; nothing was changed", made).
		With("data_version", made).With("binary_version", found[0].Version)
}

// installed returns every installation found, the newest first, and at least one.
func (o Options) installed(ctx context.Context, globs []string) ([]Binaries, error) {
	dir, source := o.BinDir, "--pg-bin"
	if dir == "" {
		dir, source = o.getenv("TODOCTL_PG_BIN"), "TODOCTL_PG_BIN"
	}
	if dir != "" {
		b, err := inspect(ctx, dir)
		if err != nil {
			return nil, todo.Errorf(todo.CodeUsage, "%s %s has no PostgreSQL server: %v", source, dir, err).
				WithHint("name the directory that holds postgres and initdb, such as /usr/lib/postgresql/15/bin")
		}
		return []Binaries{b}, nil
	}
	var found []Binaries
	seen := map[string]bool{}
	for _, dir := range o.candidates(ctx, globs) {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || seen[real] {
			continue
		}
		seen[real] = true
		if b, err := inspect(ctx, real); err == nil {
			found = append(found, b)
		}
	}
	if len(found) == 0 {
		return nil, notInstalled(ctx)
	}
	// Stable, so that of two with one version the first in the order of candidates stays first.
	slices.SortStableFunc(found, func(a, b Binaries) int { return b.Major - a.Major })
	return found, nil
}

// candidates lists directories that may hold the binaries: by PATH, then where packages put them.
func (o Options) candidates(ctx context.Context, globs []string) []string {
	var dirs []string
	for _, dir := range filepath.SplitList(o.getenv("PATH")) {
		if !filepath.IsAbs(dir) {
			continue // a relative PATH entry would run what lies in the current directory
		}
		if isExecutable(filepath.Join(dir, "pg_config")) {
			if out, err := exec.CommandContext(ctx, filepath.Join(dir, "pg_config"), "--bindir").Output(); err == nil {
				dirs = append(dirs, strings.TrimSpace(string(out)))
			}
		}
		// The entry is often a link out of a directory that holds nothing else of PostgreSQL.
		if real, err := filepath.EvalSymlinks(filepath.Join(dir, "postgres")); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	for _, pattern := range globs {
		more, _ := filepath.Glob(pattern) // it can fail on a bad pattern only
		dirs = append(dirs, more...)
	}
	return dirs
}

func installGlobs() []string {
	return []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/usr/lib/postgresql*/bin",
		"/usr/libexec/postgresql*",
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
		"/usr/local/pgsql/bin",
	}
}

func isExecutable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0
}

// inspect asks the server in dir for its version.
func inspect(ctx context.Context, dir string) (Binaries, error) {
	for _, name := range []string{"postgres", "initdb"} {
		if !isExecutable(filepath.Join(dir, name)) {
			return Binaries{}, todo.Errorf(todo.CodeUsage, "%s is not there", name)
		}
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return Binaries{}, err
	}
	// "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", "17beta1" for a prerelease.
	m := regexp.MustCompile(`\) ((\d+)\S*)`).FindStringSubmatch(string(out))
	if m == nil {
		return Binaries{}, todo.Errorf(todo.CodeUsage, "postgres --version says %q", strings.TrimSpace(string(out)))
	}
	major, err := strconv.Atoi(m[2])
	if err != nil {
		return Binaries{}, err
	}
	return Binaries{Dir: dir, Version: m[1], Major: major}, nil
}

// notInstalled says what to type on this system. The context decides first: a search that was
// interrupted finds nothing either.
func notInstalled(ctx context.Context) error {
	if ctx.Err() != nil {
		return cause(ctx, "the search for PostgreSQL did not end")
	}
	return todo.Errorf(todo.CodeUnavailable, "no PostgreSQL server is installed on this machine").
		WithHint("install it: %s; or name its directory: TODOCTL_PG_BIN=DIR", installLine(runtime.GOOS, exists))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// installLine returns the command that installs PostgreSQL, by the package manager that is there.
func installLine(goos string, exists func(string) bool) string {
	switch {
	case goos == "darwin":
		return "brew install postgresql@17"
	case exists("/usr/bin/apt-get"):
		return "sudo apt-get install postgresql"
	case exists("/usr/bin/dnf"):
		return "sudo dnf install postgresql-server"
	case exists("/sbin/apk"):
		return "sudo apk add postgresql"
	case exists("/usr/bin/pacman"):
		return "sudo pacman -S postgresql"
	case exists("/usr/bin/zypper"):
		return "sudo zypper install postgresql-server"
	}
	return "sudo apt-get install postgresql, sudo dnf install postgresql-server or brew install postgresql@17"
}

// cause turns a context that is done into the error of its kind.
func cause(ctx context.Context, what string) error {
	code, why := todo.CodeInterrupted, "interrupted"
	if ctx.Err() == context.DeadlineExceeded {
		code, why = todo.CodeTimeout, "the time limit ran out"
	}
	e := todo.Errorf(code, "%s: %s", why, what)
	e.Err = context.Cause(ctx)
	return e
}
