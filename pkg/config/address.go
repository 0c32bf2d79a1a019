package config

import (
	"net/url"
	"strings"
)

// address tells which database a URL or keyword text means, without its secrets, well enough to see
// whether two sources mean the same.
type address struct{ service, host, port, database string }

func (a address) String() string {
	if a.service != "" {
		return "service " + a.service
	}
	host := a.host
	if host == "" {
		host = "the local socket"
	}
	if a.port != "" {
		host += ":" + a.port
	}
	return host + "/" + a.database
}

// addressOf reads s; what s leaves out comes from the PG* variables, as the driver has it.
func addressOf(s string, env map[string]string) address {
	get := settingsOf(s)
	pick := func(key, variable, standard string) string {
		for _, v := range []string{get[key], env[variable], standard} {
			if v != "" {
				return v
			}
		}
		return ""
	}
	user := pick("user", "PGUSER", env["USER"])
	a := address{host: pick("host", "PGHOST", ""), port: pick("port", "PGPORT", "5432"), database: pick("dbname", "PGDATABASE", user)}
	// A service that the text itself does not overrule says what neither of us can see here.
	if service := pick("service", "PGSERVICE", ""); service != "" && (get["host"] == "" || get["dbname"] == "") {
		a = address{service: service}
	}
	return a
}

func hasPassword(s string) bool { return settingsOf(s)["password"] != "" }

// settingsOf reads the parts of a URL or keyword text by their keyword names. It never fails: what
// is malformed is found out by the driver, which says so better.
func settingsOf(s string) map[string]string {
	all := map[string]string{}
	if !strings.HasPrefix(s, "postgres://") && !strings.HasPrefix(s, "postgresql://") {
		for key, value := range keywords(s) {
			all[key] = value
		}
		return all
	}
	_, rest, _ := strings.Cut(s, "://")
	rest, query, _ := strings.Cut(rest, "?")
	authority, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		user, password, _ := strings.Cut(authority[:i], ":")
		all["user"], all["password"] = unescape(user), unescape(password)
		authority = authority[i+1:]
	}
	var hosts, ports []string
	for hostPort := range strings.SplitSeq(authority, ",") {
		host, port := hostPort, ""
		if i := strings.LastIndexByte(hostPort, ':'); i >= 0 && !strings.HasSuffix(hostPort, "]") {
			host, port = hostPort[:i], hostPort[i+1:]
		}
		hosts, ports = append(hosts, unescape(strings.Trim(host, "[]"))), append(ports, port)
	}
	all["host"], all["port"] = strings.Join(hosts, ","), strings.Trim(strings.Join(ports, ","), ",")
	all["dbname"] = unescape(path)
	values, _ := url.ParseQuery(query)
	for key := range values {
		if v := values.Get(key); v != "" {
			if key == "database" {
				key = "dbname"
			}
			all[key] = v
		}
	}
	return all
}

func unescape(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

// keywords reads key=value key='quoted value' with backslash escapes.
func keywords(s string) map[string]string {
	all := map[string]string{}
	for {
		s = strings.TrimLeft(s, " \t\r\n")
		key, rest, found := strings.Cut(s, "=")
		if !found {
			return all
		}
		rest = strings.TrimLeft(rest, " \t\r\n")
		var value strings.Builder
		quoted := strings.HasPrefix(rest, "'")
		i := 0
		if quoted {
			i = 1
		}
		for ; i < len(rest); i++ {
			ch := rest[i]
			if ch == '\\' && i+1 < len(rest) {
				i++
				ch = rest[i]
			} else if quoted && ch == '\'' || !quoted && strings.IndexByte(" \t\r\n", ch) >= 0 {
				i++
				break
			}
			value.WriteByte(ch)
		}
		all[strings.ToLower(strings.TrimSpace(key))] = value.String()
		s = rest[i:]
	}
}
