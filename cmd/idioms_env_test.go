//go:build unix

package cmd_test

import (
	"errors"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/todoctl/todoctl/pkg/pgnet"
)

// TestIdiomCron runs the line of a crontab in the environment that cron gives it: a short PATH and
// nothing else. What has nothing to say prints nothing, so that no mail is sent.
func TestIdiomCron(t *testing.T) {
	inEachShell(t, func(b *bench) {
		b.fill(1)
		b.ok("claim", "-q", "mail", "--owner", "gone")
		expire(b.T, b.conn)
		b.wants(`printf '%s\n' "$TODOCTL_DATABASE_URL" >url
		todoctl=$(command -v todoctl)
		cron() { env -i PATH=/usr/bin:/bin `+b.shell+` -c "$1"; }
		cron "$todoctl reap --quiet --timeout 50s --database-url-file $PWD/url" || exit
		cron "$todoctl list -q mail --database-url-file $PWD/url --jq .[].condition" || exit
		cron "$todoctl claim -q mail --database-url-file $PWD/url --jq .payload"`, 0, "pending\n1\n", "")
		r := b.sh(b.shell, `env -i PATH=/usr/bin:/bin "$(command -v todoctl)" list`)
		if r.code != 2 || r.out != "" || !strings.Contains(r.err, "TODOCTL_DATABASE_URL") {
			b.Errorf("without a database: exit %d, %q, %q", r.code, r.out, r.err)
		}
	})
}

// TestIdiomNoHome runs without HOME, and with one that is not there: no settings are looked for, none missed.
func TestIdiomNoHome(t *testing.T) {
	inEachShell(t, func(b *bench) {
		b.fill(3)
		script := `unset TODOCTL_CONFIG XDG_CONFIG_HOME XDG_STATE_HOME XDG_RUNTIME_DIR; cd /
		todoctl claim -q mail -o csv --fields payload | tail -n 1 && todoctl config owner --fields value -o tsv && todoctl completion bash >/dev/null`
		b.wants("unset HOME; "+script, 0, "1\nw\n", "")
		b.wants("HOME=/nonexistent; "+script, 0, "2\nw\n", "")
		b.wants("HOME=; "+script, 0, "3\nw\n", "")
	})
}

// TestIdiomUserWithoutAName runs as a user id that no account has, as containers do: the owner is then
// the number at the host. Only root can become such a user; for anybody else it is the own name.
func TestIdiomUserWithoutAName(t *testing.T) {
	const id = 54321
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	inEachShell(t, func(b *bench) {
		b.fill(1)
		who := strconv.Itoa(id)
		p := exec.Command(b.shell, "-c", `receipt=$(todoctl claim -q mail -o receipt) && todoctl complete "$receipt" --jq .owner`)
		p.Dir, p.Env = "/", b.env
		if os.Geteuid() == 0 {
			if _, err := user.LookupId(who); !errors.As(err, new(user.UnknownUserIdError)) {
				b.Fatalf("user id %d has an account: %v", id, err)
			}
			p.Env = b.open()
			p.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
		} else {
			u, err := user.Current()
			if err != nil {
				b.Fatal(err)
			}
			who = u.Username
		}
		out, err := p.CombinedOutput()
		if want := who + "@" + host + "\n"; err != nil || string(out) != want {
			b.Errorf("%q, %v; want %q", out, err, want)
		}
	})
}

// open returns an environment in which another user reaches the program and the database, and names no owner.
func (b *bench) open() []string {
	b.Helper()
	program, err := exec.LookPath("todoctl")
	if err != nil {
		b.Fatal(err)
	}
	binary, err := os.ReadFile(program)
	if err != nil {
		b.Fatal(err)
	}
	bin, err := os.MkdirTemp("", "bin")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(bin) })
	if err := errors.Join(os.Chmod(bin, 0o755), os.WriteFile(filepath.Join(bin, "todoctl"), binary, 0o755)); err != nil {
		b.Fatal(err)
	}
	address := pgnet.NewProxy(b.T, pgURL(b.env)).URL()
	u, err := url.Parse(address)
	if err != nil {
		b.Fatal(err)
	}
	dir := u.Query().Get("host")
	if err := errors.Join(os.Chmod(dir, 0o711), os.Chmod(filepath.Join(dir, ".s.PGSQL."+u.Query().Get("port")), 0o777)); err != nil {
		b.Fatal(err)
	}
	return []string{"PATH=" + bin + ":/usr/bin:/bin", quickExit, "TODOCTL_DATABASE_URL=" + address}
}

// pgURL returns the database that an environment names.
func pgURL(env []string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "TODOCTL_DATABASE_URL="); ok {
			return v
		}
	}
	return ""
}

// TestIdiomFullDisk writes to a device that is full: exit 1, and what was claimed is free again.
func TestIdiomFullDisk(t *testing.T) {
	inEachShell(t, func(b *bench) {
		b.fill(1)
		for _, line := range []string{"list", "list -o json", "list -o id", "queues -o table", "show " + b.ok("list", "-o", "id"),
			"claim -q mail", "claim -q mail -o env", "claim -q mail --limit 3 -o json", "enqueue -q other", "version", "config", "completion bash", "reap"} {
			r := b.sh(b.shell, "todoctl "+line+" >/dev/full")
			if r.code != 1 || strings.Count(r.err, "no space left on device") != 1 {
				b.Errorf("%s: exit %d, %q", line, r.code, r.err)
			}
		}
		b.count("pending", 2)
		if got := b.ok("list", "-q", "mail", "--jq", "[.[] | .attempt, .lease_seq]"); got != "[0,3]" {
			b.Errorf("after three claims that reached nobody: %s", got)
		}
	})
}

// TestIdiomClosedPipe claims into a pipe that nobody reads any more: exit 1, no death by the signal,
// and the todo is given back with its attempt.
func TestIdiomClosedPipe(t *testing.T) {
	inEachShell(t, func(b *bench) {
		b.fill(1)
		for i, form := range []string{"receipt", "env", "json"} {
			r := b.sh(b.shell, `rm -f closed
			{ while [ ! -e closed ]; do sleep 0.02; done; todoctl claim -q mail -o `+form+`; echo $? >code; } |
				{ exec <&-; : >closed; }
			cat code`)
			if r.code != 0 || r.out != "1\n" || !strings.Contains(r.err, "broken pipe") {
				b.Errorf("-o %s: %q, %q", form, r.out, r.err)
			}
			got := b.ok("list", "--jq", `.[] | "\(.condition) \(.attempt) \(.lease_seq)"`)
			if want := "pending 0 " + strconv.Itoa(i+1); got != want {
				b.Errorf("-o %s: the todo is %s, want %s", form, got, want)
			}
		}
		if got := b.ok("show", b.ok("list", "-o", "id"), "--jq", "[.history[].outcome] | unique[]"); got != "released" {
			b.Errorf("history: %s", got)
		}
	})
}
