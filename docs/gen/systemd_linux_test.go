package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/pgnet"
)

// systemd boots a systemd in namespaces of its own with these units, of which test.target wants some. Only root may, where there is one.
func (s shell) systemd(units map[string]string, programs map[string]string, wants ...string) {
	s.t.Helper()
	can := []string{"unshare", "--pid", "--mount", "--ipc", "--uts", "--fork", "--kill-child", "--mount-proc"}
	if _, err := os.Stat("/lib/systemd/systemd"); err != nil || os.Geteuid() != 0 || exec.Command(can[0], append(can[1:], "sh", "-c", "mkdir $0 && mount -t cgroup2 none $0", s.home()+"/can")...).Run() != nil {
		s.t.Skip("needs root, systemd, and a kernel that lets a process have a machine of its own")
	}
	units["test.target"] = "[Unit]\nDescription=What is tested\nWants=" + strings.Join(wants, " ") + "\n"
	for folder, files := range map[string]map[string]string{"units": units, "bin": programs} {
		if err := os.Mkdir(filepath.Join(s.home(), folder), 0o755); err != nil {
			s.t.Fatal(err)
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(s.home(), folder, name), []byte(text), 0o755); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	group := fmt.Sprint("todoctl-test-", os.Getpid())
	script, err := filepath.Abs("testdata/systemd.sh")
	if err != nil {
		s.t.Fatal(err)
	}
	c := s.command(can[0], append(can[1:], "sh", script, s.home(), group)...)
	console, err := os.Create(filepath.Join(s.home(), "console"))
	if err != nil {
		s.t.Fatal(err)
	}
	c.Stdout, c.Stderr = console, console
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setsid: true}
	if err := c.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = c.Process.Kill() // and with it, by --kill-child, all that it has started
		_ = c.Wait()
		if s.t.Failed() {
			text, _ := os.ReadFile(console.Name())
			s.t.Logf("the console: %s", text)
		}
		for end := time.Now().Add(10 * time.Second); !removeCgroups(group) && time.Now().Before(end); { // its processes are still ending
			time.Sleep(50 * time.Millisecond)
		}
	})
}

// removeCgroups removes the control groups that a systemd has left, and says whether none is there any more.
func removeCgroups(name string) (gone bool) {
	gone = true
	for _, root := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		var dirs []string
		_ = filepath.WalkDir(filepath.Join(root, name), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
		for _, dir := range slices.Backward(dirs) {
			gone = syscall.Rmdir(dir) == nil && gone
		}
	}
	return gone
}

// unit returns an example with its paths moved to where the test has what they name.
func unit(t *testing.T, name string, change ...string) string {
	t.Helper()
	text := read(t, "docs/examples/"+name)
	for i := 0; i < len(change); i += 2 {
		if !strings.Contains(text, change[i]) {
			t.Fatalf("%s has no %q", name, change[i])
		}
		text = strings.ReplaceAll(text, change[i], change[i+1])
	}
	return text
}

// The units of the examples, run by systemd itself: the service works a queue off under a user of its own, whose todos the timer's sweeps
// leave alone; they bring back what a crashed worker held; and the service ends in order when it is stopped.
func TestUnits(t *testing.T) {
	path, err := exec.LookPath("todoctl")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	server := pgnet.NewServer(t) // a unit with a /tmp of its own does not see a socket there
	server.Exec(t, "CREATE ROLE todoctl SUPERUSER LOGIN PASSWORD 'pw'")
	s := newShell(t, server.SocketURL("postgres"))
	s.run("todoctl", "migrate", "up")
	s.place("url", "postgres://todoctl:pw@127.0.0.1:"+server.Port+"/postgres\n")
	s.fill("mail", "12", "13", "14")
	s.run("todoctl", "enqueue", "-q", "other", "1")
	s.run("todoctl", "claim", "-q", "other", "--ttl", "1s")
	files := []string{"/usr/bin/todoctl", "/usr/local/bin/todoctl", "/etc/todoctl/database-url", filepath.Join(s.home(), "url")}
	stop := fmt.Sprintf("[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\nExecStart=/bin/sh -c 'until [ -e %[1]s/stop ]; do sleep 0.1; done; systemctl stop todoctl-work; "+
		"systemctl show -p Result,ExecMainStatus todoctl-work todoctl-reap >%[1]s/shown; mv %[1]s/shown %[1]s/stopped'\n", s.home())
	s.systemd(map[string]string{
		"todoctl-work.service": unit(t, "todoctl-work.service", files...),
		"todoctl-reap.service": unit(t, "todoctl-reap.service", files...),
		"todoctl-reap.timer":   unit(t, "todoctl-reap.timer", "=30s", "=1s"),
		"stop.service":         stop,
	}, map[string]string{"todoctl": string(program), "send": send}, "todoctl-work.service", "todoctl-reap.timer", "stop.service")
	wait := func(what string, holds func() bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("waited in vain until %s", what)
			}
		}
	}
	wait("mail is worked off", func() bool { return strings.Contains(s.states(), "12 done\n13 retrying\n14 done\n") })
	wait("the other todo is back", func() bool { return strings.Contains(s.states(), "1 pending\n") })
	if owner := s.run("todoctl", "list", "--state", "done", "-o", "jsonl", "--jq", ".owner"); !regexp.MustCompile(`^todoctl-work@\S+\ntodoctl-work@\S+\n$`).MatchString(owner) {
		t.Errorf("done by %q", owner)
	}
	s.place("stop", "now")
	stopped := filepath.Join(s.home(), "stopped")
	wait("the service is stopped", func() bool { _, err := os.Stat(stopped); return err == nil })
	if got, err := os.ReadFile(stopped); err != nil || strings.Count(string(got), "Result=success\n") != 2 || strings.Count(string(got), "ExecMainStatus=0\n") != 2 {
		t.Errorf("%s %v", got, err)
	}
}
