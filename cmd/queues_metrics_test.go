package cmd_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestQueuesAsOpenMetrics reads the text as a collector does, line by line: families in blocks, each named
// before its samples, a unit that ends the name, one end.
func TestQueuesAsOpenMetrics(t *testing.T) {
	t.Parallel()
	c, conn, _ := withDB(t)
	pgExec(t, conn, `INSERT INTO todos (queue, state, created_at, run_at, claimed_at, completed_at, attempt, lease_seq)
		SELECT 'mail', 'done', now() - interval '2 h', now() - interval '11 min', now() - interval '10 min', now() - interval '9 min', 1, 1 FROM generate_series(1, 36) i`)
	pgExec(t, conn, `INSERT INTO todos (queue, run_at) SELECT 'mail', now() - interval '1 h' FROM generate_series(1, 3) UNION ALL SELECT E'a"\\\nb', now()`)
	c.ok("pause", "mail")
	meta := regexp.MustCompile(`^# (TYPE [a-z_]+ gauge|UNIT [a-z_]+ [a-z]+|HELP [a-z_]+ [A-Z1].+\.)$`)
	line := regexp.MustCompile(`^([a-z_]+)\{queue="((?:[^"\\]|\\["\\n])*)"(?:,[a-z]+="[a-z0-9.]+")?\} \d+(\.\d+)?(e[+-]\d+)?$`)
	for _, args := range [][]string{{"queues", "-o", "prometheus"}, {"queues", "-o", "prometheus", "--window", "1h", "--exact"}} {
		text := c.ok(args...)
		lines := strings.Split(text, "\n")
		if lines[len(lines)-1] != "# EOF" || strings.Count(text, "# EOF") != 1 {
			t.Errorf("%v does not end with its mark:\n%s", args, text)
		}
		family := ""
		for _, l := range lines[:len(lines)-1] {
			if m := meta.FindStringSubmatch(l); m != nil {
				words := strings.Fields(m[1])
				if words[0] == "TYPE" {
					family = words[1]
				}
				if words[1] != family || words[0] == "UNIT" && !strings.HasSuffix(family, "_"+words[2]) {
					t.Errorf("%v: %q in the block of %s", args, l, family)
				}
			} else if m := line.FindStringSubmatch(l); m == nil || m[1] != family {
				t.Errorf("%v: %q in the block of %s", args, l, family)
			}
		}
	}
	text := c.ok("queues", "-o", "prometheus", "--window", "1h", "--exact")
	for _, want := range []string{`todoctl_todos{queue="mail",condition="pending"} 3`, `todoctl_todos{queue="mail",condition="done"} 36`, `todoctl_queue_paused{queue="mail"} 1`,
		`todoctl_out_per_second{queue="mail"} 0.01`, `todoctl_run_seconds{queue="mail",quantile="0.95"} 60`, `todoctl_todos{queue="a\"\\\nb",condition="pending"} 1`,
		`todoctl_oldest_expired_lease_seconds{queue="mail"} 0`, `todoctl_oldest_claimable_seconds{queue="mail"} 360`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	c.fails(2, "queues", "-o", "prometheus", "--jq", ".")
	c.fails(2, "list", "-o", "prometheus")
}

// TestMetricsFileIsReplacedWhole writes over a file, fails to, and leaves nothing else behind.
func TestMetricsFileIsReplacedWhole(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	dir := filepath.Join(c.dir, "collector")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "todoctl.prom")
	if err := os.WriteFile(file, []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.ok("enqueue", "-q", "mail", "null")
	if r := c.run("queues", "--textfile", file); r.code != 0 || r.out != "" {
		t.Fatalf("exit %d %s%s", r.code, r.out, r.err)
	}
	text, err := os.ReadFile(file)
	info, statErr := os.Stat(file)
	if err != nil || statErr != nil || string(text) != c.ok("queues", "-o", "prometheus")+"\n" && !strings.Contains(string(text), `todoctl_todos{queue="mail",condition="pending"} 1`) || info.Mode().Perm() != 0o644 {
		t.Errorf("%v %v: %s", err, info, text)
	}
	c.with("TODOCTL_DATABASE_URL=postgres://x@127.0.0.1:1/x").fails(8, "queues", "--textfile", file)
	if after, err := os.ReadFile(file); err != nil || string(after) != string(text) {
		t.Errorf("after an outage the file is %q, %v", after, err)
	}
	c.fails(1, "queues", "--textfile", filepath.Join(dir, "none", "todoctl.prom"))
	c.fails(1, "queues", "--textfile", dir)
	c.fails(2, "queues", "--textfile", file, "-o", "json")
	c.fails(2, "queues", "--textfile", "")
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	hidden, _ := filepath.Glob(filepath.Join(dir, ".*"))
	near, _ := filepath.Glob(filepath.Join(c.dir, ".*"))
	if err != nil || len(names) != 1 || len(hidden)+len(near) != 0 {
		t.Errorf("left behind: %v %v %v", names, hidden, near)
	}
}
