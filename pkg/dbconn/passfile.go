package dbconn

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Warnings returns what a user should know about the way o is said, one line each: a passfile that is
// ignored since others can read it, and a password that every user of the host sees in the process list.
func Warnings(o Options) []string {
	var w []string
	if path := unsafePassfile(o.URL); path != "" {
		w = append(w, fmt.Sprintf("passfile %s is ignored: others can read it; chmod 600 mends that", path))
	}
	if strings.HasPrefix(o.Source, "--database-url") && !strings.HasPrefix(o.Source, "--database-url-file") && HasPassword(o.URL) {
		w = append(w, "a password in "+o.Source+" shows in the process list; use TODOCTL_DATABASE_URL, --database-url-file or a passfile")
	}
	return w
}

// HasPassword says whether a URL or keyword DSN holds a password itself.
func HasPassword(s string) bool { return strings.Contains(Redact(s), mask) }

// unsafePassfile returns the path of the passfile in effect when its group or others have any right
// on it. libpq ignores such a file, and so do we. A passfile named in a service file is not looked at.
func unsafePassfile(s string) string {
	if runtime.GOOS == "windows" {
		return ""
	}
	path := os.Getenv("PGPASSFILE")
	if said := passfileOf(s); said != "" {
		path = said
	}
	if path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		path = filepath.Join(home, ".pgpass")
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		return path
	}
	return ""
}

// passfileOf returns the passfile that a URL or keyword DSN names itself.
func passfileOf(s string) string {
	if rest, isURL := cutScheme(s); isURL {
		for pair := range strings.SplitSeq(split(rest).query, "&") {
			if value, ok := strings.CutPrefix(pair, "passfile="); ok {
				if path, err := url.PathUnescape(value); err == nil {
					return path
				}
			}
		}
		return ""
	}
	m := regexp.MustCompile(`(?:^|\s)passfile\s*=\s*(?:'((?:[^'\\]|\\.)*)'|(\S+))`).FindStringSubmatch(s)
	if m == nil {
		return ""
	}
	return regexp.MustCompile(`\\(.)`).ReplaceAllString(m[1]+m[2], "$1")
}

// dropPassfile takes a password that came from the passfile out of cfg: it is read again without one.
func dropPassfile(cfg *pgx.ConnConfig, s string) {
	without := s
	if _, isURL := cutScheme(s); !isURL {
		without += " passfile=''"
	} else if strings.Contains(s, "?") {
		without += "&passfile="
	} else {
		without += "?passfile="
	}
	if c, err := pgx.ParseConfig(without); err == nil {
		cfg.Password = c.Password
	}
}
