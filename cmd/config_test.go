package cmd_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/config"
)

// settingRow is a row of `todoctl config -o json`.
type settingRow struct {
	Name, Source, Meaning             string
	Value, Error, Flag, Variable, Key *string
}

// bare returns a cli that names no database and has a home without a config file.
func bare(t *testing.T) *cli {
	t.Helper()
	dir := t.TempDir()
	return &cli{t: t, dir: dir, env: []string{path(t), quickExit, "HOME=" + dir, "XDG_STATE_HOME=" + dir}} // where no local server of the machine's is found
}

// configure writes the config file in its standard place and returns its path.
func (c *cli) configure(yaml string) string {
	c.t.Helper()
	path := filepath.Join(c.dir, ".config", "todoctl", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// setting returns one row of the answer of config.
func (c *cli) setting(name string, args ...string) settingRow {
	c.t.Helper()
	rows := decode[[]settingRow](c.t, c.ok(append([]string{"config", name, "-o", "json"}, args...)...))
	if len(rows) != 1 || rows[0].Name != name {
		c.t.Fatalf("config %s: %+v", name, rows)
	}
	return rows[0]
}

func text(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

func TestCaseC116EveryVariableKeyAndFlagIsRead(t *testing.T) {
	values := map[string][3]string{ // in the file, the variable, the flag
		"database-url": {"host=a", "host=b", "host=c"}, "database-url-file": {"/a", "/b", "/c"}, "schema": {"a", "b", "c"},
		"profile": {"one", "two", "three"}, "output": {"csv", "jsonl", "json"}, "color": {"never", "always", "auto"},
		"timeout": {"1h", "2h", "3h"}, "queue": {"a", "b", ""}, "owner": {"a", "b", ""}, "ttl": {"1m", "2m", ""},
		"retry-base": {"1s", "2s", ""}, "retry-cap": {"1m", "2m", ""}, "before-images": {"1d", "2d", ""}, "keep-journal": {"1d", "2d", ""}, "redact": {"a", "b", ""},
	}
	for _, v := range config.Variables() {
		if v.Name == "config" {
			continue // tested below, it says where the rest is
		}
		said, known := values[v.Name]
		if !known {
			t.Fatalf("no values to test %s with", v.Name)
		}
		c := bare(t)
		if v.Name == "profile" {
			// What counts is the profile that names the database.
			yaml := "default_profile: one\nprofiles:\n"
			for _, name := range said {
				yaml += "  - {name: " + name + ", database_url: 'host=" + name + "'}\n"
			}
			c.configure(yaml)
		} else {
			c.configure(v.Key + ": " + said[0] + "\n")
		}
		check := func(value, source string, args ...string) {
			t.Helper()
			if v.Name == "output" {
				args = append(args, "--fields", "value,source") // any form can print these
				if got := c.ok(append([]string{"config", v.Name}, args...)...); !strings.Contains(got, value) || !strings.Contains(got, source) {
					t.Errorf("output: got %s", got)
				}
				return
			}
			if got := c.setting(v.Name, args...); text(got.Value) != value || !strings.Contains(got.Source, source) {
				t.Errorf("%s: got %s from %s, want %s from %s", v.Name, text(got.Value), got.Source, value, source)
			}
		}
		if v.Name == "profile" {
			if got := c.setting("database"); text(got.Value) != "host=one" || !strings.Contains(got.Source, "profile one in ") {
				t.Errorf("the default profile: %+v", got)
			}
		} else {
			check(said[0], "key "+v.Key)
		}
		c = c.with(v.Env + "=" + said[1])
		check(said[1], v.Env)
		if said[2] != "" {
			check(said[2], v.Flag, v.Flag+"="+said[2])
		}
	}
}

func TestConfigFileIsFound(t *testing.T) {
	c := bare(t)
	if got := c.setting("config"); got.Value != nil || got.Source != "default" {
		t.Errorf("without a file: %+v", got)
	}
	path := c.configure("queue: mail\n")
	if got := c.setting("config"); text(got.Value) != path {
		t.Errorf("in the standard place: %+v", got)
	}
	other := filepath.Join(c.dir, "other.yaml")
	if err := os.WriteFile(other, []byte("queue: other\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := c.with("TODOCTL_CONFIG=" + other).setting("queue"); text(got.Value) != "other" || !strings.Contains(got.Source, other) {
		t.Errorf("by variable: %+v", got)
	}
	if got := c.with("TODOCTL_CONFIG="+path).setting("queue", "--config", other); text(got.Value) != "other" {
		t.Errorf("by flag: %+v", got)
	}
	// Nothing is read from the current directory.
	if err := os.WriteFile(filepath.Join(c.dir, "config.yaml"), []byte("queue: here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := c.setting("queue"); text(got.Value) != "mail" {
		t.Errorf("in the current directory: %+v", got)
	}
}

func TestConfigMasksSecrets(t *testing.T) {
	const secret = "Xq7-secret"
	for i, url := range []string{"postgres://u:" + secret + "@h/db", "postgres://u@h/db?password=" + secret, "host=h user=u password='" + secret + "'"} {
		c := bare(t)
		c.configure("profiles:\n  - {name: p, database_url: \"" + url + "\"}\n")
		for _, d := range []*cli{c.with("TODOCTL_DATABASE_URL=" + url), c.with("DATABASE_URL=" + url), c.with("TODOCTL_PROFILE=p"),
			c.with("PGHOST=h", "PGUSER=u", "PGPASSWORD="+secret)} {
			forms := []string{"table", "wide", "json", "jsonl", "csv", "tsv"}
			if i > 0 {
				forms = forms[2:3]
			}
			for _, form := range forms {
				r := d.run("config", "-o", form)
				if r.code != 0 || strings.Contains(r.out+r.err, secret) || !strings.Contains(r.out, "h") {
					t.Errorf("%s: exit %d\n%s%s", form, r.code, r.out, r.err)
				}
			}
			if got := d.setting("database"); got.Value == nil || got.Error != nil || !strings.Contains(*got.Value, "u") {
				t.Errorf("database: %+v", got)
			}
		}
	}
}

func TestConfigTellsWhatIsWrong(t *testing.T) {
	c := bare(t)
	c.configure("default_profile: p\nttl: 3\nprofiles:\n  - {name: p, database_url: 'host=a dbname=x', schema: s}\n")
	r := c.run("config", "ttl", "database", "-o", "tsv", "--fields", "name,error")
	if r.code != 0 || !strings.Contains(r.out, "has no unit") || !strings.Contains(r.err, "3s for seconds") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if got := c.setting("schema"); text(got.Value) != "s" || !strings.Contains(got.Source, "profile p") {
		t.Errorf("the schema of the profile: %+v", got)
	}
	r = c.with("DATABASE_URL=host=b dbname=x").run("config", "database", "-o", "jsonl")
	if r.code != 0 || !strings.Contains(r.out, "two databases are named") || !strings.Contains(r.err, `{"warning":`) {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := bare(t).run("config", "database"); r.code != 0 || !strings.Contains(r.err, "no database is named") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	if r := c.fails(2, "config", "tll"); !strings.Contains(r.err, `no setting "tll"`) || !strings.Contains(r.err, "ttl") {
		t.Errorf("%s", r.err)
	}
}

func TestCaseC117EmptyVariableNeverFallsThrough(t *testing.T) {
	c := bare(t)
	c.configure("database_url: host=/nowhere\nqueue: mail\noutput: json\n")
	for _, argv := range [][]string{
		{"TODOCTL_DATABASE_URL", "list"}, {"TODOCTL_QUEUE", "claim", "--owner", "w"}, {"TODOCTL_OUTPUT", "list"}, {"TODOCTL_TTL", "claim"},
		{"TODOCTL_PROFILE", "list"}, {"TODOCTL_SCHEMA", "list"}, {"TODOCTL_OWNER", "claim"}, {"TODOCTL_CONFIG", "list"}, {"TODOCTL_TIMEOUT", "list"},
		{"DATABASE_URL", "list"}, {"PGHOST", "list"}, {"PGSERVICE", "list"},
	} {
		d := c.with(argv[0] + "=")
		if r := d.fails(2, argv[1:]...); !strings.Contains(r.err, argv[0]) || !strings.Contains(r.err, "empty") || r.out != "" {
			t.Errorf("%v: %s%s", argv, r.out, r.err)
		}
	}
	for _, argv := range [][]string{
		{"list", "--database-url="}, {"list", "--schema", ""}, {"claim", "-q", ""}, {"list", "-q", ""}, {"list", "-o", ""}, {"claim", "--owner="},
		{"claim", "--ttl="}, {"list", "--profile", ""}, {"list", "--config="}, {"list", "--fields="}, {"list", "--timeout="},
	} {
		if r := c.fails(2, argv...); !strings.Contains(r.err, "empty") {
			t.Errorf("%v: %s", argv, r.err)
		}
	}
}

func TestCaseC120ReadableConfigWithAPassword(t *testing.T) {
	c := bare(t)
	path := c.configure("database_url: postgres://u:Xq7-secret@h/db\n")
	if r := c.run("config", "ttl"); r.err != "" {
		t.Errorf("a private file is warned of: %s", r.err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	r := c.run("config", "ttl")
	if r.code != 0 || !strings.Contains(r.err, path) || !strings.Contains(r.err, "0644") || strings.Contains(r.err, "Xq7") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if r := c.run("config", "ttl", "--quiet"); r.err != "" {
		t.Errorf("--quiet: %s", r.err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if r := c.fails(2, "list"); !strings.Contains(r.err, path) || !strings.Contains(r.err, "directory") {
		t.Errorf("a file that cannot be read: %s", r.err)
	}
}

func TestCaseC121MisspeltKeyStopsACommand(t *testing.T) {
	c := bare(t)
	path := c.configure("databse_url: x\nttl: 5m\n")
	r := c.fails(2, "list")
	for _, word := range []string{path, "line 1", "databse_url", "did you mean database_url?"} {
		if !strings.Contains(r.err, word) {
			t.Errorf("no %q in %s", word, r.err)
		}
	}
	if r := c.fails(2, "list", "--config", "missing.yaml"); !strings.Contains(r.err, "missing.yaml: no such file") {
		t.Errorf("%s", r.err)
	}
	c.configure("ttl: 5m\n\tqueue: mail\n")
	if r := c.fails(2, "list", "-o", "json"); !strings.Contains(r.err, `{"error":{"code":"usage"`) || !strings.Contains(r.err, "line 2") {
		t.Errorf("%s", r.err)
	}
	// Help, version and completion stay usable, and completion stays clean.
	for _, argv := range [][]string{{"--help"}, {"list", "--help"}, {"--version"}, {"version"}, {"help", "exit-codes"}, {"completion", "bash"},
		{"__complete", "list", "-q", ""}, {"__complete", "list", "--state", ""}, {"__complete", "config", ""}} {
		if r := c.run(argv...); r.code != 0 || strings.Contains(r.err+r.out, "config file "+path) {
			t.Errorf("%v: exit %d\n%s%s", argv, r.code, r.out, r.err)
		}
	}
}
