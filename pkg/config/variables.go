package config

import "strings"

// Variable is one setting and the places it can be said in.
type Variable struct {
	Name    string // as in Value
	Flag    string // "--ttl"; "" where there is none
	Env     string // "TODOCTL_TTL"
	Key     string // in the config file; "" where it cannot stand there
	Meaning string
	Default string // "" where there is none, or where it depends on the machine
}

// Variables lists every setting. Help, reference and `todoctl config` are made of it, and the
// program reads nothing else.
func Variables() []Variable {
	all := []Variable{
		{Name: "database-url", Meaning: "database, as a URL or in keyword form"},
		{Name: "database-url-file", Meaning: "file whose one line is the database URL"},
		{Name: "schema", Meaning: "schema of the tables; the server's search_path where none is named"},
		{Name: "config", Key: "-", Meaning: "config file; $XDG_CONFIG_HOME/todoctl/config.yaml where none is named"},
		{Name: "profile", Key: "default_profile", Meaning: "profile of the config file that names the database"},
		{Name: "output", Meaning: "output form; a table on a terminal, else tsv"},
		{Name: "color", Meaning: "auto, always or never", Default: "auto"},
		{Name: "timeout", Meaning: "time after which a command gives up; unlimited where none is set"},
		{Name: "queue", Meaning: "queue of enqueue, claim and work"},
		{Name: "owner", Meaning: "who holds what is claimed; user@host where none is named"},
		{Name: "ttl", Meaning: "how long a lease lasts", Default: "5m"},
		{Name: "retry-base", Flag: "-", Meaning: "backoff after the first failure, doubled after each further one", Default: "30s"},
		{Name: "retry-cap", Flag: "-", Meaning: "longest backoff", Default: "15m"},
		{Name: "before-images", Flag: "-", Meaning: "how long the journal keeps what undo needs", Default: "7d"},
		{Name: "keep-journal", Flag: "-", Meaning: "how long the journal keeps its own rows; prune drops older ones", Default: "365d"},
		{Name: "redact", Flag: "-", Meaning: "keys of payloads, results and events whose values show and list take out"},
	}
	for i := range all {
		v := &all[i]
		underscored := strings.ReplaceAll(v.Name, "-", "_")
		v.Env = "TODOCTL_" + strings.ToUpper(underscored)
		v.Flag = unless(v.Flag, "--"+v.Name)
		v.Key = unless(v.Key, underscored)
	}
	return all
}

// unless returns the standard unless given says otherwise; "-" says none.
func unless(given, standard string) string {
	switch given {
	case "":
		return standard
	case "-":
		return ""
	}
	return given
}

// ProfileKeys lists what a profile in the config file can say.
func ProfileKeys() []Variable {
	return []Variable{
		{Key: "name", Meaning: "what --profile calls it"},
		{Key: "database_url", Meaning: "its database"},
		{Key: "database_url_file", Meaning: "file whose one line is the URL of its database"},
		{Key: "schema", Meaning: "schema of the tables there"},
		{Key: "production", Meaning: "true marks a database where mistakes are dear"},
	}
}

// otherVariables are read elsewhere in the program; they are known so that nothing warns of them.
func otherVariables() []string { return []string{"TODOCTL_PG_BIN"} }
