package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/config"
)

const secret = "Xq7-secret"

func TestCaseC120ReadableFileWithAPassword(t *testing.T) {
	for _, yaml := range []string{
		"database_url: postgres://u:" + secret + "@h/db\n",
		"database_url: host=h password='" + secret + "'\n",
		"database_url: postgres://h/db?password=" + secret + "\n",
		"profiles:\n  - name: p\n    database_url: postgres://u:" + secret + "@h/db\n",
	} {
		w := newWorld(t, yaml)
		if got := w.load(t).Warnings; len(got) != 0 {
			t.Errorf("a private file is warned of: %q", got)
		}
		chmod(t, w.path(), 0o644)
		got := strings.Join(w.load(t).Warnings, "\n")
		for _, word := range []string{w.path(), "0644", "chmod 600", "password"} {
			if !strings.Contains(got, word) {
				t.Errorf("no %q in the warning %q", word, got)
			}
		}
		if strings.Contains(got, secret) {
			t.Errorf("the warning tells the password: %q", got)
		}
	}
	w := newWorld(t, "database_url: postgres://u@h/db\n")
	chmod(t, w.path(), 0o644)
	if got := w.load(t).Warnings; len(got) != 0 {
		t.Errorf("a file without a password is warned of: %q", got)
	}
}

func TestCaseC120UnreadableFile(t *testing.T) {
	// A directory in its place is there, and cannot be read by anybody.
	w := newWorld(t, "")
	if err := os.MkdirAll(w.path(), 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := config.Load(w.input())
	refused(t, err, w.path(), "directory")
}

func TestCaseC121MisspeltKeys(t *testing.T) {
	for _, c := range []struct {
		yaml  string
		words []string
	}{
		{"databse_url: x\nttl: 5m\n", []string{"line 1", "unknown key databse_url", "did you mean database_url?"}},
		{"ttl: 5m\nmax-atempts: 3\n", []string{"line 2", "unknown key max-atempts", "keys:"}},
		{"a.b: 1\n", []string{"unknown key a.b"}},
		{"ttl:\n  base: 5m\n", []string{"line 1", "ttl is not text"}},
		{"foo:\n  ttl: 5m\n", []string{"line 1", "unknown key foo"}},
		{"profile: prod\n", []string{"unknown key profile"}},
		{"profiles:\n  - name: p\n    database_ulr: x\n", []string{"line 3", "in profile 1", "did you mean database_url?"}},
		{"profiles: {p: {database_url: x}}\n", []string{"profiles is not a list"}},
		{"profiles:\n  - name: p\n", []string{"p needs one of database_url and database_url_file"}},
		{"profiles:\n  - name: p\n    database_url: x\n    database_url_file: y\n", []string{"p needs one of"}},
		{"profiles:\n  - database_url: x\n", []string{"entry 1 has no name"}},
		{"profiles:\n  - x\n", []string{"entry 1 is not a profile"}},
		{"profiles:\n  - {name: p, database_url: x}\n  - {name: p, database_url: y}\n", []string{"two of the name p"}},
		{"profiles:\n  - {name: p, database_url: x, production: sure}\n", []string{"production is neither true nor false"}},
		{"default_profile: prod\n", []string{"line 1", `names "prod"`}},
		{"default_profile: p\ndatabase_url: x\nprofiles: [{name: p, database_url: y}]\n", []string{"database_url and default_profile both"}},
		{"queue: 010\n", []string{"line 1", "queue is not text", "quotes"}},
		{"owner: [a, b]\n", []string{"owner is not text"}},
		{"owner: 2026-01-02\n", []string{"owner is not text"}},
		{"queue: []\n", []string{"queue is not text"}},
		{"queue: [a, 1]\n", []string{"queue is not text"}},
		{"retry-cap: 1m\nretry_cap: 2m\n", []string{"there twice"}},
	} {
		w := newWorld(t, c.yaml)
		_, err := config.Load(w.input())
		refused(t, err, append(c.words, w.path())...)
	}
}

func TestCaseC121BrokenFile(t *testing.T) {
	for yaml, words := range map[string][]string{
		"ttl: 5m\nqueue: \"mail\nowner: x\n":    {"line"},
		"ttl: 5m\n\tqueue: mail\n":              {"line 2"},
		"ttl: 5m\nttl: 6m\n":                    {"line 2", "ttl"},
		"- a\n- b\n":                            {"line 1"},
		"postgres://u:" + secret + "@h/db\n":    {"line 1"},
		secret + "\n":                           {"line 1"},
		"database_url: [" + secret + "\nttl: x": {"line"},
	} {
		w := newWorld(t, yaml)
		_, err := config.Load(w.input())
		refused(t, err, append(words, w.path())...)
		if strings.Contains(err.Error(), secret[:4]) {
			t.Errorf("the message quotes the file: %v", err)
		}
	}
}

func TestCaseC121MissingFile(t *testing.T) {
	w := newWorld(t, "")
	if c := w.load(t); c.Path != "" {
		t.Errorf("read %s", c.Path)
	}
	missing := filepath.Join(w.home, "missing.yaml")
	w.flags["config"] = missing
	_, err := config.Load(w.input())
	refused(t, err, "--config", missing, "no such file")
	delete(w.flags, "config")
	w.env = []string{"TODOCTL_CONFIG=" + missing}
	_, err = config.Load(w.input())
	refused(t, err, "TODOCTL_CONFIG", missing, "no such file")
}

func TestStandardPlace(t *testing.T) {
	w := newWorld(t, "queue: home\n")
	for _, empty := range []string{"XDG_CONFIG_HOME=", "XDG_CONFIG_HOME=relative"} {
		w.env = []string{empty}
		if got := w.load(t).Value("queue").Text; got != "home" {
			t.Errorf("%s: queue is %q", empty, got)
		}
	}
	xdg := t.TempDir()
	if err := os.MkdirAll(filepath.Join(xdg, "todoctl"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(xdg, "todoctl", "config.yaml"), []byte("queue: xdg\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.env = []string{"XDG_CONFIG_HOME=" + xdg}
	if got := w.load(t).Value("queue").Text; got != "xdg" {
		t.Errorf("queue is %q", got)
	}
	// No home at all is no fault, and an empty file says nothing.
	in := w.input()
	in.Env = []string{"TODOCTL_CONFIG=" + os.DevNull}
	c, err := config.Load(in)
	if err != nil || c.Value("queue").IsSet() || c.Path != os.DevNull {
		t.Errorf("%+v, %v", c, err)
	}
	in.Env = nil
	if c, err := config.Load(in); err != nil || c.Path != "" {
		t.Errorf("%+v, %v", c, err)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
