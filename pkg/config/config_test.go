package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/todoctl/todoctl/pkg/config"
	"github.com/todoctl/todoctl/pkg/todo"
)

// world is a home directory with a config file, flags and variables.
type world struct {
	home  string
	flags map[string]string
	env   []string
	local string // URL of a running local server
}

func newWorld(t *testing.T, yaml string) *world {
	t.Helper()
	w := &world{home: t.TempDir(), flags: map[string]string{}}
	if yaml != "" {
		w.write(t, yaml)
	}
	return w
}

func (w *world) path() string { return filepath.Join(w.home, ".config", "todoctl", "config.yaml") }

func (w *world) write(t *testing.T, yaml string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(w.path(), []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (w *world) input() config.Input {
	return config.Input{
		Env: append([]string{"HOME=" + w.home, "USER=alice"}, w.env...),
		Flags: func(name string) (string, bool) {
			value, set := w.flags[name]
			return value, set
		},
		LocalURL: func() (string, bool) { return w.local, w.local != "" },
	}
}

func (w *world) load(t *testing.T) *config.Config {
	t.Helper()
	c, err := config.Load(w.input())
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return c
}

// refused asserts a usage error whose message and hint hold the words, and returns it.
func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	var e *todo.Error
	if !errors.As(err, &e) {
		t.Fatalf("error is %v, want a usage error with %q", err, words)
	}
	if e.Code != todo.CodeUsage {
		t.Errorf("code is %s, want usage: %v", e.Code, err)
	}
	for _, word := range words {
		if !strings.Contains(e.Message+"\n"+e.Hint, word) {
			t.Errorf("no %q in %q, hint %q", word, e.Message, e.Hint)
		}
	}
}

func TestCaseC116EverySettingHasAVariable(t *testing.T) {
	sample := func(name string) string { return "said-in-" + name }
	for _, v := range config.Variables() {
		t.Run(v.Name, func(t *testing.T) {
			if want := "TODOCTL_" + strings.ToUpper(strings.ReplaceAll(v.Name, "-", "_")); v.Env != want {
				t.Errorf("variable is %q, want %q", v.Env, want)
			}
			if v.Meaning == "" {
				t.Error("it has no meaning for the help")
			}
			w := newWorld(t, "")
			check := func(text, source string) {
				t.Helper()
				if got := w.load(t).Value(v.Name); got.Text != text || got.Source != source {
					t.Errorf("got %q from %q, want %q from %q", got.Text, got.Source, text, source)
				}
			}
			check(v.Default, config.Default)
			if v.Key != "" {
				yaml := v.Key + ": " + sample("file") + "\n"
				if v.Key == "default_profile" {
					yaml += "profiles: [{name: said-in-file, database_url: 'host=a'}]\n"
				}
				w.write(t, yaml)
				check(sample("file"), "config file "+w.path()+", key "+v.Key)
				w.write(t, strings.Replace(yaml, v.Key, strings.ReplaceAll(v.Key, "_", "-"), 1))
				check(sample("file"), "config file "+w.path()+", key "+v.Key)
			}
			value := sample("env")
			if v.Name == "config" {
				value = filepath.Join(w.home, "other.yaml")
				if err := os.WriteFile(value, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			w.env = []string{v.Env + "=" + value}
			check(value, v.Env)
			if v.Flag != "" {
				w.flags[strings.TrimPrefix(v.Flag, "--")] = value
				check(value, v.Flag)
			}
		})
	}
}

func TestCaseC117EmptyIsRefused(t *testing.T) {
	for _, v := range config.Variables() {
		w := newWorld(t, "queue: mail\ndatabase_url: host=a\n")
		w.env = []string{v.Env + "="}
		_, err := config.Load(w.input())
		refused(t, err, v.Env, "empty", "unset")
		if v.Key == "" || v.Flag == "" {
			continue
		}
		for _, empty := range []string{"", " ''", " null", " ~", " '  '"} {
			w = newWorld(t, v.Key+":"+empty+"\n")
			_, err = config.Load(w.input())
			refused(t, err, w.path(), "line 1", v.Key, "empty")
		}
	}
	for _, name := range []string{"DATABASE_URL", "PGHOST", "PGPORT", "PGDATABASE", "PGSERVICE"} {
		w := newWorld(t, "")
		w.local = "postgres:///local"
		w.env = []string{name + "="}
		_, err := w.load(t).Database()
		refused(t, err, name, "empty")
		// Nothing looks at it where something stronger names the database.
		w.flags["database-url"] = "host=a"
		if db, err := w.load(t).Database(); err != nil || db.URL != "host=a" {
			t.Errorf("%s: got %+v, %v", name, db, err)
		}
	}
	for _, name := range []string{"database-url", "database-url-file", "schema", "profile"} {
		w := newWorld(t, "database_url: host=a\n")
		w.flags[name] = ""
		_, err := w.load(t).Database()
		refused(t, err, "--"+name, "empty")
	}
	w := newWorld(t, "")
	w.flags["config"] = ""
	_, err := config.Load(w.input())
	refused(t, err, "--config", "empty")
	w = newWorld(t, "")
	w.flags["queue"] = " "
	_, err = w.load(t).Strings("queue")
	refused(t, err, "--queue", "empty")
	for _, value := range []string{"a,", ",a", "a,,b"} {
		w.flags["queue"] = value
		_, err = w.load(t).Strings("queue")
		refused(t, err, "--queue", "empty name")
	}
}

func TestValues(t *testing.T) {
	w := newWorld(t, "queue: [mail, push.eu]\nttl: 300\nowner: 'me'\nretry_cap: 1h\n")
	c := w.load(t)
	if got, err := c.Strings("queue"); err != nil || !slices.Equal(got, []string{"mail", "push.eu"}) {
		t.Errorf("queue is %q, %v", got, err)
	}
	if got, err := c.Duration("retry-cap"); err != nil || got != time.Hour {
		t.Errorf("retry-cap is %v, %v", got, err)
	}
	if got, err := c.Duration("retry-base"); err != nil || got != 30*time.Second {
		t.Errorf("retry-base is %v, %v", got, err)
	}
	if got, err := c.Duration("timeout"); err != nil || got != 0 {
		t.Errorf("timeout is %v, %v", got, err)
	}
	_, err := c.Duration("ttl")
	refused(t, err, "config file "+w.path()+", key ttl", "300s", "300m")

	for value, words := range map[string][]string{
		"5 minutes": {"TODOCTL_TTL", "not a duration"},
		"-5m":       {"TODOCTL_TTL", "-5m"},
		"0":         {"TODOCTL_TTL"},
		"999ms":     {"TODOCTL_TTL", "between 1s and 7d"},
		"169h":      {"TODOCTL_TTL", "between 1s and 7d"},
	} {
		w.env = []string{"TODOCTL_TTL=" + value}
		_, err := w.load(t).Duration("ttl")
		refused(t, err, words...)
	}
	for value, want := range map[string]time.Duration{"1s": time.Second, "1w": 168 * time.Hour} {
		w.env = []string{"TODOCTL_TTL=" + value}
		if got, err := w.load(t).Duration("ttl"); err != nil || got != want {
			t.Errorf("%s is %v, %v", value, got, err)
		}
	}
	w.env = []string{"TODOCTL_COLOR=allways"}
	_, err = w.load(t).OneOf("color", "auto", "always", "never")
	refused(t, err, "TODOCTL_COLOR", "allways", "did you mean always?")
}

func TestMisspeltVariableIsToldOf(t *testing.T) {
	w := newWorld(t, "")
	w.env = []string{"TODOCTL_DATABSE_URL=x", "TODOCTL_SERVICE_HOST=10.0.0.1", "TODOCTL_PG_BIN=/x", "TODOCTL_PORT_5432_TCP_ADDR=1"}
	got := w.load(t).Warnings
	if len(got) != 1 || !strings.Contains(got[0], "TODOCTL_DATABSE_URL") || !strings.Contains(got[0], "TODOCTL_DATABASE_URL?") {
		t.Errorf("warnings are %q", got)
	}
}
