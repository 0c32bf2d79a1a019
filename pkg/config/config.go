// Package config gathers what the command line, the environment and the config file say into one
// value that knows where each setting came from, so that every complaint can name the place. A flag
// beats a variable, a variable beats the file, the file beats the default. What is set but empty is
// refused rather than passed over.
package config

import (
	"slices"
	"strings"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Value is a setting as text and where it was said: "--ttl", "TODOCTL_TTL", "config file PATH, key
// ttl", or "default".
type Value struct{ Text, Source string }

// Default is the source of a value that nobody set.
const Default = "default"

// IsSet says whether somebody set the value.
func (v Value) IsSet() bool { return v.Source != Default }

// Input is where settings come from. Nothing in this package reads the process environment.
type Input struct {
	Flags    func(name string) (value string, set bool) // nil: none
	Env      []string                                   // as os.Environ returns it
	LocalURL func() (string, bool)                      // the user's own running local server; nil: none
}

// Config is the settings of one run. It does not change after Load.
type Config struct {
	Path     string   // the config file that was read; "" when there is none
	Warnings []string // what the user should know, for the error stream

	in        Input
	env       map[string]string
	file      file
	variables []Variable
}

// Load reads the config file and checks what every command relies on. Each value is checked by the
// getter that a command asks for it with.
func Load(in Input) (*Config, error) {
	c := &Config{in: in, env: map[string]string{}, variables: Variables()}
	for _, kv := range in.Env {
		name, value, _ := strings.Cut(kv, "=")
		c.env[name] = value
	}
	if err := c.checkVariables(); err != nil {
		return nil, err
	}
	if err := c.readFile(); err != nil {
		return nil, err
	}
	c.warnOfIgnoredProfile()
	return c, nil
}

// checkVariables refuses variables of ours that are set but empty: whether that means nothing or
// everything is anybody's guess. A variable that looks misspelt is only warned of, since clusters
// set TODOCTL_… for a service of that name.
func (c *Config) checkVariables() error {
	known := otherVariables()
	for _, v := range c.variables {
		known = append(known, v.Env)
		if value, set := c.env[v.Env]; set && value == "" {
			return emptyValue(v.Env)
		}
	}
	for name := range c.env {
		if !strings.HasPrefix(name, "TODOCTL_") || slices.Contains(known, name) {
			continue
		}
		if near := todo.Nearest(name, known); near != "" && len(name) <= len(near)+2 {
			c.Warnings = append(c.Warnings, "the variable "+name+" means nothing; did you mean "+near+"?")
		}
	}
	slices.Sort(c.Warnings)
	return nil
}

// Value returns a setting and its source.
func (c *Config) Value(name string) Value {
	if value, set := c.flag(name); set {
		return Value{value, "--" + name}
	}
	for _, v := range c.variables {
		if v.Name != name {
			continue
		}
		if value, set := c.env[v.Env]; set {
			return Value{value, v.Env}
		}
		if value, set := c.file.values[v.Key]; set {
			return Value{value, c.keySource(v.Key)}
		}
		return Value{v.Default, Default}
	}
	return Value{"", Default}
}

func (c *Config) flag(name string) (string, bool) {
	if c.in.Flags == nil {
		return "", false
	}
	return c.in.Flags(name)
}

func (c *Config) keySource(key string) string { return "config file " + c.Path + ", key " + key }

// String returns a setting as text; one that is set but empty is refused.
func (c *Config) String(name string) (string, error) {
	v := c.Value(name)
	if v.IsSet() && strings.TrimSpace(v.Text) == "" {
		return "", emptyValue(v.Source)
	}
	return v.Text, nil
}

// Strings returns a setting that is a list, written a,b.
func (c *Config) Strings(name string) ([]string, error) {
	text, err := c.String(name)
	if err != nil || text == "" {
		return nil, err
	}
	all := strings.Split(text, ",")
	for i, s := range all {
		if all[i] = strings.TrimSpace(s); all[i] == "" {
			return nil, todo.Errorf(todo.CodeUsage, "%s: %q has an empty name in it", c.Value(name).Source, text)
		}
	}
	return all, nil
}

// OneOf returns a setting that must be one of these words, or empty where it has no default.
func (c *Config) OneOf(name string, words ...string) (string, error) {
	text, err := c.String(name)
	if err != nil || text == "" || slices.Contains(words, text) {
		return text, err
	}
	message := "%s: %q is not one of " + strings.Join(words, ", ")
	if near := todo.Nearest(text, words); near != "" {
		message += ", did you mean " + near + "?"
	}
	return "", todo.Errorf(todo.CodeUsage, message, c.Value(name).Source, text)
}

// Duration returns a setting that is a duration, 0 where there is none. Lease and backoff have
// bounds, and every duration here must be longer than nothing.
func (c *Config) Duration(name string) (time.Duration, error) {
	text, err := c.String(name)
	if err != nil || text == "" {
		return 0, err
	}
	source := c.Value(name).Source
	d, err := ParseDuration(text)
	if err != nil {
		return 0, atSource(source, err)
	}
	least, most := bounds(name)
	switch {
	case d <= 0 && least == 0:
		return 0, todo.Errorf(todo.CodeUsage, "%s: %s is not longer than nothing", source, text)
	case d < least || d > most:
		return 0, todo.Errorf(todo.CodeUsage, "%s: %s is not between %s and %s", source, text, FormatDuration(least), FormatDuration(most))
	}
	return d, nil
}

// bounds are the limits that the design sets to a duration.
func bounds(name string) (least, most time.Duration) {
	if name == "ttl" {
		return time.Second, 7 * 24 * time.Hour
	}
	return 0, 365 * 24 * time.Hour
}

func emptyValue(source string) error {
	hint := "leave it away, or give it a value"
	if strings.ToUpper(source) == source {
		hint = "unset " + source + ", or give it a value"
	}
	return todo.Errorf(todo.CodeUsage, "%s is set but empty", source).WithHint("%s", hint)
}

// atSource puts the place in front of a usage error about a value.
func atSource(source string, err error) error {
	e, ours := err.(*todo.Error)
	if !ours {
		return err
	}
	c := *e
	c.Message = source + ": " + e.Message
	return &c
}
