package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const profiles = `
profiles:
  - name: prod
    database_url: postgres://u:` + secret + `@db.prod/app
    schema: jobs
    production: true
  - name: stage
    database_url_file: %FILE%
`

func TestDatabaseOrder(t *testing.T) {
	dir := t.TempDir()
	urlFile := filepath.Join(dir, "url")
	if err := os.WriteFile(urlFile, []byte("host=from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	listed := strings.ReplaceAll(profiles, "%FILE%", urlFile)
	for _, c := range []struct {
		name, yaml  string
		flags       map[string]string
		env         []string
		local       string
		url, source string
		schema      string
		profile     string
	}{
		{name: "flag first", yaml: listed + "default_profile: prod\n", flags: map[string]string{"database-url": "host=f", "profile": "stage"},
			env: []string{"TODOCTL_DATABASE_URL=host=v", "DATABASE_URL=host=d"}, url: "host=f", source: "--database-url"},
		{name: "flag file", flags: map[string]string{"database-url-file": urlFile}, env: []string{"TODOCTL_DATABASE_URL=host=v"},
			url: "host=from-file", source: "--database-url-file"},
		{name: "variable before profile", yaml: listed, flags: map[string]string{"profile": "prod"},
			env: []string{"TODOCTL_DATABASE_URL=host=v", "DATABASE_URL=host=d"}, url: "host=v", source: "TODOCTL_DATABASE_URL"},
		{name: "variable file", env: []string{"TODOCTL_DATABASE_URL_FILE=" + urlFile, "DATABASE_URL=host=d"},
			url: "host=from-file", source: "TODOCTL_DATABASE_URL_FILE"},
		{name: "profile flag", yaml: listed, flags: map[string]string{"profile": "prod"}, env: []string{"TODOCTL_PROFILE=stage", "DATABASE_URL=host=d"},
			url: "postgres://u:" + secret + "@db.prod/app", source: "profile prod", schema: "jobs", profile: "prod"},
		{name: "profile variable", yaml: listed + "schema: other\n", env: []string{"TODOCTL_PROFILE=stage", "PGHOST=h"},
			url: "host=from-file", source: "profile stage", schema: "other", profile: "stage"},
		{name: "default profile", yaml: listed + "default_profile: prod\nschema: other\n", local: "host=l",
			url: "postgres://u:" + secret + "@db.prod/app", source: "profile prod", schema: "jobs", profile: "prod"},
		{name: "schema variable beats profile", yaml: listed + "default_profile: prod\n", env: []string{"TODOCTL_SCHEMA=mine"},
			url: "postgres://u:" + secret + "@db.prod/app", source: "profile prod", schema: "mine", profile: "prod"},
		{name: "schema of a profile that is not used", yaml: listed + "default_profile: prod\n", flags: map[string]string{"database-url": "host=f"},
			url: "host=f", source: "--database-url"},
		{name: "key of the file", yaml: "database_url: host=k\nschema: s\n", local: "host=l", url: "host=k", source: "key database_url", schema: "s"},
		{name: "DATABASE_URL before PG*", yaml: listed, env: []string{"PGHOST=h", "DATABASE_URL=host=d"}, url: "host=d", source: "DATABASE_URL"},
		{name: "PG*", env: []string{"PGHOST=h", "PGDATABASE=x", "PGUSER=u"}, local: "host=l", url: "", source: "PGHOST, PGDATABASE"},
		{name: "service", env: []string{"PGSERVICE=q"}, local: "host=l", url: "", source: "PGSERVICE"},
		{name: "local last", env: []string{"PGUSER=u", "PGPASSWORD=x", "PGSSLMODE=disable"}, local: "host=l", url: "host=l", source: "the local server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.yaml)
			w.flags, w.env, w.local = c.flags, c.env, c.local
			db, err := w.load(t).Database()
			if err != nil {
				t.Fatal(err)
			}
			if db.URL != c.url || !strings.Contains(db.Source, c.source) || db.Schema != c.schema || db.Profile != c.profile {
				t.Errorf("got %+v", db)
			}
			if db.Production != (c.profile == "prod") || db.Local != (c.source == "the local server") {
				t.Errorf("got %+v", db)
			}
			if strings.Contains(db.Source, secret) {
				t.Errorf("the source tells the password: %s", db.Source)
			}
		})
	}
}

func TestDatabaseRefused(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, empty, two := file("url", "host=a"), file("empty", "\n"), file("two", "host=a\nhost=b\n")
	listed := strings.ReplaceAll(profiles, "%FILE%", good)
	for _, c := range []struct {
		name, yaml string
		flags      map[string]string
		env        []string
		words      []string
	}{
		{name: "none", words: []string{"no database is named", "--database-url", "TODOCTL_DATABASE_URL", "config.yaml", "local start"}},
		{name: "two flags", flags: map[string]string{"database-url": "host=a", "database-url-file": good},
			words: []string{"--database-url and --database-url-file", "keep one"}},
		{name: "two variables", env: []string{"TODOCTL_DATABASE_URL=host=a", "TODOCTL_DATABASE_URL_FILE=" + good},
			words: []string{"TODOCTL_DATABASE_URL and TODOCTL_DATABASE_URL_FILE"}},
		{name: "two keys", yaml: "database_url: a\ndatabase_url_file: b\n", words: []string{"key database_url", "key database_url_file"}},
		{name: "empty file", flags: map[string]string{"database-url-file": empty}, words: []string{"--database-url-file", empty, "is empty"}},
		{name: "two lines", flags: map[string]string{"database-url-file": two}, words: []string{two, "more than one line"}},
		{name: "missing file", env: []string{"TODOCTL_DATABASE_URL_FILE=" + dir + "/no"}, words: []string{"TODOCTL_DATABASE_URL_FILE", dir + "/no", "no such file"}},
		{name: "unknown profile", yaml: listed, flags: map[string]string{"profile": "pord"}, words: []string{"--profile", `"pord"`, "prod, stage"}},
		{name: "profile without file", env: []string{"TODOCTL_PROFILE=prod"}, words: []string{"TODOCTL_PROFILE", "no config file"}},
		{name: "profile of a file without", yaml: "ttl: 5m\n", env: []string{"TODOCTL_PROFILE=prod"}, words: []string{"has no profiles"}},
		{name: "default against DATABASE_URL", yaml: listed + "default_profile: prod\n", env: []string{"DATABASE_URL=postgres://x:" + secret + "@db.test/app"},
			words: []string{"profile prod", "db.prod:5432/app", "DATABASE_URL means db.test:5432/app", "--profile", "unset DATABASE_URL"}},
		{name: "default against PG*", yaml: listed + "default_profile: prod\n", env: []string{"PGHOST=db.prod", "PGDATABASE=other"},
			words: []string{"db.prod:5432/app", "db.prod:5432/other", "unset PGHOST PGDATABASE"}},
		{name: "default against a service", yaml: listed + "default_profile: prod\n", env: []string{"PGSERVICE=q"}, words: []string{"service q"}},
		{name: "key against DATABASE_URL", yaml: "database_url: host=a dbname=x\n", env: []string{"DATABASE_URL=postgres://a/y"},
			words: []string{"key database_url", "a:5432/x", "a:5432/y"}},
		{name: "port", yaml: "database_url: postgres://a:1/x\n", env: []string{"DATABASE_URL=postgres://a:2/x"}, words: []string{"a:1/x", "a:2/x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.yaml)
			w.flags, w.env = c.flags, c.env
			_, err := w.load(t).Database()
			refused(t, err, c.words...)
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the message tells a password: %v", err)
			}
		})
	}
}

func TestTwoSourcesOfOneDatabase(t *testing.T) {
	for _, c := range [][2]string{
		{"postgres://u:p@h:5432/x", "DATABASE_URL=postgresql://other@h/x"},
		{"postgres://h/x", "DATABASE_URL=host=h dbname=x"},
		{"host='h' port=6000 dbname='x'", "DATABASE_URL=postgres://h:6000/x?sslmode=disable"},
		{"postgres:///x?host=/run/pg", "DATABASE_URL=host=/run/pg dbname=x"},
		{"postgres://%2Frun%2Fpg/x", "DATABASE_URL=host=/run/pg dbname=x"},
		{"postgres://[::1]:5433/x", "DATABASE_URL=host=::1 port=5433 dbname=x"},
		{"postgres://h", "DATABASE_URL=host=h dbname=alice"},
		{"postgres://bob@h", "DATABASE_URL=postgres://h/bob"},
		{"postgres://h/x", "PGHOST=h PGDATABASE=x"},
		{"postgres://h:6000/x", "PGHOST=h PGPORT=6000 PGDATABASE=x"},
		{"service=q", "PGSERVICE=q"},
		{`host=h dbname='it\'s'`, "DATABASE_URL=postgres://h/it%27s"},
		{"postgres://u:p%40ss@h1:1,h2:2/x", "DATABASE_URL=host=h1,h2 port=1,2 dbname=x"},
		{"postgres://u:raw@sign@h/x", "DATABASE_URL=postgres://h/x"},
	} {
		w := newWorld(t, "database_url: \""+strings.ReplaceAll(c[0], `\`, `\\`)+"\"\n")
		if strings.HasPrefix(c[1], "PG") {
			w.env = strings.Fields(c[1])
		} else {
			w.env = []string{c[1]}
		}
		db, err := w.load(t).Database()
		if err != nil || db.URL != c[0] {
			t.Errorf("%q and %q: %+v, %v", c[0], c[1], db, err)
		}
	}
}

func TestIgnoredProfileIsToldOf(t *testing.T) {
	w := newWorld(t, strings.ReplaceAll(profiles, "%FILE%", "f"))
	w.flags["profile"] = "prod"
	w.env = []string{"TODOCTL_DATABASE_URL=host=v"}
	got := strings.Join(w.load(t).Warnings, "\n")
	if !strings.Contains(got, "--profile is passed over: TODOCTL_DATABASE_URL names the database") {
		t.Errorf("warnings are %q", got)
	}
	w.env = nil
	if got := w.load(t).Warnings; len(got) != 0 {
		t.Errorf("warnings are %q", got)
	}
}
