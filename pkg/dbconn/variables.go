package dbconn

import (
	"regexp"
	"strings"
)

// Variables returns the PG* variables that a connection to this URL, or keyword DSN, takes where it goes
// and who it is from: those for which the text itself has no word.
func Variables(text string) []string {
	said := settings(strings.TrimSpace(text))
	var list []string
	for _, v := range []struct{ name, key string }{
		{"PGHOST", "host"}, {"PGHOSTADDR", "host"}, {"PGPORT", "port"}, {"PGDATABASE", "dbname"}, {"PGUSER", "user"},
		{"PGPASSWORD", "password"}, {"PGPASSFILE", "passfile"}, {"PGSERVICE", "service"}, {"PGSERVICEFILE", "servicefile"},
		{"PGSSLMODE", "sslmode"}, {"PGSSLCERT", "sslcert"}, {"PGSSLKEY", "sslkey"}, {"PGSSLPASSWORD", "sslpassword"},
		{"PGSSLROOTCERT", "sslrootcert"}, {"PGOPTIONS", "options"},
	} {
		if !said[v.key] && !(v.key == "passfile" && said["password"]) {
			list = append(list, v.name)
		}
	}
	return list
}

// settings are the keys that a URL or keyword DSN gives a value.
func settings(text string) map[string]bool {
	said := map[string]bool{}
	rest, isURL := cutScheme(text)
	if !isURL {
		for _, m := range regexp.MustCompile(`([a-z_]+)\s*=`).FindAllStringSubmatch(text, -1) {
			said[m[1]] = true
		}
		return said
	}
	p := split(rest)
	for pair := range strings.SplitSeq(p.query, "&") {
		key, _, _ := strings.Cut(pair, "=")
		said[strings.ToLower(key)] = true
	}
	host := strings.Trim(p.hosts, "[]:0123456789") != "" || strings.Contains(p.hosts, ".") || strings.Contains(p.hosts, "[")
	said["host"] = said["host"] || host
	said["port"] = said["port"] || regexp.MustCompile(`:\d+$`).MatchString(p.hosts)
	said["dbname"] = said["dbname"] || said["database"] || p.path != ""
	said["user"] = said["user"] || p.user != ""
	said["password"] = said["password"] || p.password != ""
	return said
}
