package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/viper"

	"github.com/todoctl/todoctl/pkg/todo"
)

const (
	maxFile = 1 << 20 // a config file larger than this is something else
	below   = "\x00"  // between the levels of a key; no key holds it
)

// file is what the config file says, every value as text: they are parsed by us, with the key named.
type file struct {
	values   map[string]string
	profiles []profile
}

// readFile reads the config file that was named, else the one in its standard place if it exists.
func (c *Config) readFile() error {
	named := c.Value("config")
	path := named.Text
	if named.IsSet() && strings.TrimSpace(path) == "" {
		return emptyValue(named.Source)
	}
	if !named.IsSet() {
		if path = c.standardPath(); path == "" {
			return nil
		}
	}
	text, mode, err := readAll(path)
	switch {
	case !named.IsSet() && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)): // a service's HOME may be /dev/null
		return nil
	case err != nil && named.IsSet():
		return todo.Errorf(todo.CodeUsage, "%s: read config file %s: %s", named.Source, path, reason(err))
	case err != nil:
		return todo.Errorf(todo.CodeUsage, "read config file %s: %s", path, reason(err)).
			WithHint("make it readable, or name another one with --config")
	}
	c.Path = path
	if err := c.parse(text); err != nil {
		return err
	}
	c.warnOfMode(mode)
	return nil
}

// standardPath is where the config file is looked for when none is named; "" without a home.
func (c *Config) standardPath() string {
	// As the XDG base directory specification has it, a relative path counts as none.
	if dir := c.env["XDG_CONFIG_HOME"]; filepath.IsAbs(dir) {
		return filepath.Join(dir, "todoctl", "config.yaml")
	}
	if home := c.env["HOME"]; home != "" {
		return filepath.Join(home, ".config", "todoctl", "config.yaml")
	}
	return ""
}

func readAll(path string) ([]byte, fs.FileMode, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("it has more than %d bytes", maxFile)
	}
	return text, info.Mode(), err
}

// reason is a file error without the path, which the message has already.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// parse reads YAML. Keys may be written with dashes too.
func (c *Config) parse(text []byte) error {
	v := viper.NewWithOptions(viper.KeyDelimiter(below)) // a dot in a key is a dot
	v.SetConfigType("yaml")
	if err := v.ReadConfig(bytes.NewReader(text)); err != nil {
		return c.syntaxError(err)
	}
	c.file.values = map[string]string{}
	var known []string
	for _, k := range Variables() {
		if k.Key != "" {
			known = append(known, k.Key)
		}
	}
	known = append(known, "profiles")
	for _, written := range topKeys(v.AllKeys()) {
		key := strings.ReplaceAll(written, "-", "_")
		if !slices.Contains(known, key) {
			return c.unknownKey(text, written, "", known)
		}
		if _, twice := c.file.values[key]; twice {
			return c.wrong(text, written, "is there twice, with a dash and with an underscore")
		}
		if key == "profiles" {
			if err := c.parseProfiles(text, v.Get(written)); err != nil {
				return err
			}
			continue
		}
		value, err := c.textOf(text, written, v.Get(written))
		if err != nil {
			return err
		}
		c.file.values[key] = value
	}
	return c.checkDefaultProfile(text)
}

// topKeys returns the keys of the file's first level, sorted.
func topKeys(all []string) []string {
	for i := range all {
		all[i], _, _ = strings.Cut(all[i], below)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// textOf returns a value that must be text, or for a list its names joined. Numbers are refused,
// for YAML reads 010 as 8 and 1.10 as 1.1.
func (c *Config) textOf(text []byte, key string, value any) (string, error) {
	switch v := value.(type) {
	case string:
		if strings.TrimSpace(v) == "" {
			return "", c.wrong(text, key, "is set but empty")
		}
		return v, nil
	case nil:
		return "", c.wrong(text, key, "is set but empty")
	case []any:
		if key != "queue" && key != "redact" || len(v) == 0 {
			break
		}
		var all []string
		for _, e := range v {
			s, err := c.textOf(text, key, e)
			if err != nil {
				return "", err
			}
			all = append(all, s)
		}
		return strings.Join(all, ","), nil
	case int, float64:
		if key == "ttl" || key == "timeout" || strings.HasPrefix(key, "retry") || key == "before_images" || key == "keep_journal" {
			return fmt.Sprint(v), nil // refused by ParseDuration, with what it could mean
		}
	}
	return "", c.wrong(text, key, "is not text; if it is meant to be, put it in quotes")
}

// wrong is a usage error about a key, with its line where that can be found.
func (c *Config) wrong(text []byte, key, what string) error {
	return todo.Errorf(todo.CodeUsage, "config file %s%s: %s %s", c.Path, lineOf(text, key), key, what)
}

func (c *Config) unknownKey(text []byte, key, where string, known []string) error {
	e := todo.Errorf(todo.CodeUsage, "config file %s%s: unknown key %s%s", c.Path, lineOf(text, key), key, where)
	if near := todo.Nearest(strings.ReplaceAll(key, "-", "_"), known); near != "" {
		e.Message += ", did you mean " + near + "?"
	}
	return e.WithHint("keys: %s", strings.Join(known, ", "))
}

// syntaxError passes on what the YAML reader says, without the text that it quotes: that may be part
// of a secret.
func (c *Config) syntaxError(err error) error {
	message := err.Error()
	line := ""
	if m := regexp.MustCompile(`line (\d+):? ?`).FindStringSubmatch(message); m != nil {
		line = ", line " + m[1]
	}
	message = regexp.MustCompile("(?s)^.*?yaml: |unmarshal errors:\\s*|line \\d+: |`[^`]*` ?|While parsing config: ").ReplaceAllString(message, "")
	message = strings.ReplaceAll(strings.TrimSpace(message), "map[string]interface {}", "settings")
	return todo.Errorf(todo.CodeUsage, "config file %s%s: %s", c.Path, line, message).
		WithHint("it is YAML, a line for each setting: ttl: 5m")
}

// lineOf finds the line of a key, for a message; "" when it cannot.
func lineOf(text []byte, key string) string {
	pattern := regexp.MustCompile(`(?i)^\s*(?:-\s+)?["']?` + regexp.QuoteMeta(key) + `["']?\s*:`)
	n := 0
	for line := range bytes.Lines(text) {
		if n++; pattern.Match(line) {
			return fmt.Sprintf(", line %d", n)
		}
	}
	return ""
}

// warnOfMode warns of a password that every user of the machine can read.
func (c *Config) warnOfMode(mode fs.FileMode) {
	if !mode.IsRegular() || mode.Perm()&0o004 == 0 {
		return
	}
	urls := []string{c.file.values["database_url"]}
	for _, p := range c.file.profiles {
		urls = append(urls, p.values["database_url"])
	}
	if slices.ContainsFunc(urls, hasPassword) {
		c.Warnings = append(c.Warnings, fmt.Sprintf("config file %s holds a password and everybody may read it (mode %04o); run: chmod 600 %s",
			c.Path, mode.Perm(), c.Path))
	}
}
