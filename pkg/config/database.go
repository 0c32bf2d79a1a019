package config

import (
	"strings"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Database is the database that a run works on and who said so.
type Database struct {
	URL        string // as it was given; "" when the PG* variables alone say it
	Source     string // for messages; never a secret
	Schema     string // "" for the server's search_path
	Profile    string // the profile that named it, if one did
	Production bool   // that profile is marked so
	Local      bool   // it is the user's own local server, found because nothing else was named
}

// place is one source of a database.
type place struct {
	source  string // who says it
	url     string
	file    string // read for the URL where it is not empty
	profile *profile
}

// Database decides which database is meant: the flags, then the TODOCTL_ variables, then the profile
// that was asked for, then what the surroundings say, then the user's own local server.
func (c *Config) Database() (Database, error) {
	for _, find := range []func() (*place, error){c.fromFlags, c.fromVariables, c.fromProfile, c.fromSurroundings} {
		p, err := find()
		if err != nil {
			return Database{}, err
		}
		if p != nil {
			return c.database(p)
		}
	}
	if c.in.LocalURL != nil {
		if url, running := c.in.LocalURL(); running {
			db, err := c.database(&place{source: "the local server", url: url})
			db.Local = true
			return db, err
		}
	}
	return Database{}, todo.Errorf(todo.CodeUsage, "no database is named").WithHint(
		"set --database-url, TODOCTL_DATABASE_URL or a profile in %s, or run: todoctl local start", c.pathForHint())
}

// warnOfIgnoredProfile tells who asked for a profile that a stronger source names the database.
func (c *Config) warnOfIgnoredProfile() {
	v := c.Value("profile")
	if !v.IsSet() || c.fromFile("profile") {
		return
	}
	for _, find := range []func() (*place, error){c.fromFlags, c.fromVariables} {
		if p, err := find(); err == nil && p != nil {
			c.Warnings = append(c.Warnings, v.Source+" is passed over: "+p.source+" names the database")
			return
		}
	}
}

func (c *Config) fromFile(name string) bool {
	return strings.HasPrefix(c.Value(name).Source, "config file ")
}

func (c *Config) pathForHint() string {
	if c.Path != "" {
		return c.Path
	}
	if path := c.standardPath(); path != "" {
		return path
	}
	return "a config file"
}

func (c *Config) database(p *place) (Database, error) {
	db := Database{URL: p.url, Source: p.source}
	if p.file != "" {
		url, err := readURL(p.file)
		if err != nil {
			return Database{}, atSource(p.source, err)
		}
		db.URL = url
	}
	schema := c.Value("schema")
	if schema.IsSet() && strings.TrimSpace(schema.Text) == "" {
		return Database{}, emptyValue(schema.Source)
	}
	db.Schema = schema.Text
	if p.profile != nil {
		db.Profile, db.Production = p.profile.name, p.profile.production
		if s := p.profile.values["schema"]; s != "" && (!schema.IsSet() || c.fromFile("schema")) {
			db.Schema = s
		}
	}
	return db, nil
}

// readURL reads the one line of a file that holds a URL.
func readURL(path string) (string, error) {
	text, _, err := readAll(path)
	if err != nil {
		return "", todo.Errorf(todo.CodeUsage, "read %s: %s", path, reason(err))
	}
	url := strings.TrimSpace(string(text))
	switch {
	case url == "":
		return "", todo.Errorf(todo.CodeUsage, "%s is empty", path)
	case strings.ContainsAny(url, "\r\n"):
		return "", todo.Errorf(todo.CodeUsage, "%s has more than one line", path).WithHint("it holds the database URL and nothing else")
	}
	return url, nil
}

// pair returns the place that two settings of one kind name; both at once say nothing.
func pair(url, file Value) (*place, error) {
	for _, v := range []Value{url, file} {
		if v.Source != "" && strings.TrimSpace(v.Text) == "" {
			return nil, emptyValue(v.Source)
		}
	}
	switch {
	case url.Source != "" && file.Source != "":
		return nil, todo.Errorf(todo.CodeUsage, "%s and %s both name the database", url.Source, file.Source).
			WithHint("keep one of them")
	case url.Source != "":
		return &place{source: url.Source, url: strings.TrimSpace(url.Text)}, nil
	case file.Source != "":
		return &place{source: file.Source, file: file.Text}, nil
	}
	return nil, nil
}

func (c *Config) fromFlags() (*place, error) {
	get := func(name string) Value {
		if text, set := c.flag(name); set {
			return Value{text, "--" + name}
		}
		return Value{}
	}
	return pair(get("database-url"), get("database-url-file"))
}

func (c *Config) fromVariables() (*place, error) {
	return pair(c.variable("TODOCTL_DATABASE_URL"), c.variable("TODOCTL_DATABASE_URL_FILE"))
}

func (c *Config) variable(name string) Value {
	if text, set := c.env[name]; set {
		return Value{text, name}
	}
	return Value{}
}

// fromProfile is the profile that --profile or TODOCTL_PROFILE asks for.
func (c *Config) fromProfile() (*place, error) {
	v := c.Value("profile")
	if !v.IsSet() || c.fromFile("profile") {
		return nil, nil
	}
	name, err := c.String("profile")
	if err != nil {
		return nil, err
	}
	if p := c.findProfile(name); p != nil {
		return c.profilePlace(p), nil
	}
	var known []string
	for _, p := range c.file.profiles {
		known = append(known, p.name)
	}
	e := todo.Errorf(todo.CodeUsage, "%s: there is no profile %q", v.Source, name)
	switch {
	case c.Path == "":
		return nil, e.WithHint("there is no config file at %s", c.pathForHint())
	case len(known) == 0:
		return nil, e.WithHint("%s has no profiles", c.Path)
	}
	return nil, e.WithHint("profiles in %s: %s", c.Path, strings.Join(known, ", "))
}

func (c *Config) profilePlace(p *profile) *place {
	return &place{source: "profile " + p.name + " in " + c.Path, url: p.values["database_url"],
		file: p.values["database_url_file"], profile: p}
}

// fromSurroundings is what nobody asked for in this call: the default of the config file,
// DATABASE_URL, the PG* variables. When the file's default and another of them mean different
// databases nothing is tried: a forgotten variable must not turn a command on another database.
func (c *Config) fromSurroundings() (*place, error) {
	chosen, err := c.fromFileDefault()
	if err != nil {
		return nil, err
	}
	others, err := c.ambient()
	if err != nil {
		return nil, err
	}
	if chosen == nil {
		if len(others) > 0 {
			return others[0], nil
		}
		return nil, nil
	}
	db, err := c.database(chosen)
	if err != nil {
		return nil, err
	}
	ours := addressOf(db.URL, c.env)
	for _, o := range others {
		if theirs := addressOf(o.url, c.env); theirs != ours {
			return nil, todo.Errorf(todo.CodeUsage, "two databases are named: %s means %s, %s means %s", chosen.source, ours, o.source, theirs).
				WithHint("choose with --profile, --database-url or TODOCTL_DATABASE_URL, or unset %s", strings.ReplaceAll(o.source, ",", ""))
		}
	}
	return chosen, nil
}

func (c *Config) fromFileDefault() (*place, error) {
	if name, set := c.file.values["default_profile"]; set {
		return c.profilePlace(c.findProfile(name)), nil
	}
	get := func(key string) Value {
		if text, set := c.file.values[key]; set {
			return Value{text, c.keySource(key)}
		}
		return Value{}
	}
	return pair(get("database_url"), get("database_url_file"))
}

// ambient lists DATABASE_URL and the PG* variables that name a database, in order of strength.
func (c *Config) ambient() ([]*place, error) {
	var all []*place
	url := c.variable("DATABASE_URL")
	p, err := pair(url, Value{})
	if err != nil {
		return nil, err
	}
	if p != nil {
		all = append(all, p)
	}
	var named []string
	for _, name := range []string{"PGHOST", "PGPORT", "PGDATABASE", "PGSERVICE"} {
		value, set := c.env[name]
		if set && value == "" {
			return nil, emptyValue(name)
		}
		if set {
			named = append(named, name)
		}
	}
	if named != nil {
		all = append(all, &place{source: strings.Join(named, ", ")})
	}
	return all, nil
}
