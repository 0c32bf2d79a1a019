package dbconn

import (
	"regexp"
	"strings"
)

const encodingHint = "percent-encode the user name and password in a URL (@ is %40, / is %2F, % is %25, a space %20), " +
	"or leave the password away and use PGPASSWORD or a passfile"

const mask = "****"

// cutScheme returns what follows postgres:// or postgresql://.
func cutScheme(s string) (rest string, ok bool) {
	if rest, ok = strings.CutPrefix(s, "postgres://"); ok {
		return rest, true
	}
	return strings.CutPrefix(s, "postgresql://")
}

// parts are the pieces of a URL, split as libpq splits it.
type parts struct {
	user, password string // raw, not decoded
	hosts          string // host:port,host:port
	path, query    string
	clean          bool // the split is certain: no piece of the password can sit elsewhere
}

// split cuts a URL as libpq does: an @ ends the user part only when no / comes before it.
func split(rest string) parts {
	var p parts
	if i := strings.IndexAny(rest, "@/"); i >= 0 && rest[i] == '@' {
		p.user, p.password, _ = strings.Cut(rest[:i], ":")
		rest = rest[i+1:]
	}
	end := 0
	for end < len(rest) && rest[end] != '/' && rest[end] != '?' {
		if rest[end] == '[' {
			if n := strings.IndexByte(rest[end:], ']'); n > 0 {
				end += n
			}
		}
		end++
	}
	p.hosts, rest = rest[:end], rest[end:]
	p.path, p.query, _ = strings.Cut(strings.TrimPrefix(rest, "/"), "?")
	p.clean = !strings.Contains(p.hosts+p.path, "@") && badPort(p.hosts) == "" &&
		!(p.user == "" && strings.Contains(p.query, "@"))
	return p
}

// badPort returns the host whose port is not a number, or "".
func badPort(hosts string) string {
	for h := range strings.SplitSeq(hosts, ",") {
		name := h
		if i := strings.LastIndexByte(h, ']'); strings.HasPrefix(h, "[") && i > 0 {
			name, h = h[:i+1], "host"+h[i+1:]
		}
		host, port, found := strings.Cut(h, ":")
		if found && strings.Trim(port, "0123456789") != "" {
			if host != "host" {
				name = host
			}
			return name
		}
	}
	return ""
}

// checkShape refuses a connection string whose parts are uncertain, before anything in it is looked
// up: half of a password in the place of a host name would be sent to a name server, and printed.
func checkShape(s, source string) error {
	if strings.ContainsAny(s, "\x00\r\n") {
		return usage(source, "it holds a line break or a NUL byte").WithHint("%s", encodingHint)
	}
	rest, isURL := cutScheme(s)
	if !isURL {
		if scheme, _, ok := strings.Cut(s, "://"); ok && !strings.ContainsAny(scheme, "= ") {
			return usage(source, "it does not begin with postgres:// or postgresql://").
				WithHint("write postgres://USER@HOST:PORT/DATABASE, or host=… dbname=… user=…")
		}
		if s != "" && !strings.Contains(s, "=") || strings.Contains(s, "://") {
			return usage(source, "it is neither a URL nor key=value pairs").
				WithHint("write postgres://USER@HOST:PORT/DATABASE, or host=… dbname=… user=…")
		}
		return nil
	}
	p := split(rest)
	if strings.Contains(p.hosts, "[") && !strings.Contains(p.hosts, "]") {
		return usage(source, "the [ of an IPv6 address is not closed%s", where(s)).
			WithHint("write an IPv6 address as [::1]")
	}
	switch {
	case strings.Contains(p.hosts, "@"):
		return usage(source, "there is more than one @ before the database name%s", where(s)).WithHint("%s", encodingHint)
	case strings.Contains(p.path, "@"), !p.clean && strings.Contains(s, "@") && p.user == "":
		return usage(source, "there is a / before the @ that ends the password%s", where(s)).WithHint("%s", encodingHint)
	case badPort(p.hosts) != "":
		return usage(source, "the port of host %s is not a number%s", badPort(p.hosts), where(s)).
			WithHint("write postgres://USER@HOST:PORT/DATABASE, an IPv6 address as [::1]")
	case strings.Contains(p.user+p.password, "%") && regexp.MustCompile(`%([^0-9A-Fa-f]|.[^0-9A-Fa-f]|.?$)`).MatchString(p.user+"\n"+p.password+"\n"):
		return usage(source, "the user name or password holds a %% that is not percent-encoding%s", where(s)).
			WithHint("%s", encodingHint)
	case strings.Contains(p.user+p.password, " "):
		return usage(source, "the user name or password holds a space%s", where(s)).WithHint("%s", encodingHint)
	}
	return nil
}

// where returns the string that was refused, without its secrets, for the end of a message.
func where(s string) string {
	if s == "" {
		return ""
	}
	return ": " + Redact(s)
}

// Redact returns a URL or keyword DSN with every password in it masked, those in the query part
// included. What cannot be split with certainty loses all that may be a piece of the password.
func Redact(s string) string {
	s = strings.TrimSpace(s)
	rest, isURL := cutScheme(s)
	if !isURL {
		if strings.Contains(s, "://") {
			return mask
		}
		return redactDSN(s)
	}
	p := split(rest)
	out := s[:len(s)-len(rest)]
	if !p.clean {
		// Between the first : and the last @ anything may be secret; so may a query or a port.
		user, tail, _ := strings.Cut(rest, ":")
		out += strings.TrimLeft(user, "/") + ":" + mask
		if i := strings.LastIndexByte(tail, '@'); i >= 0 {
			host, _, _ := strings.Cut(tail[i:], "?")
			out += host
		}
		return out
	}
	if p.password != "" {
		out += p.user + ":" + mask + "@"
	} else if p.user != "" {
		out += p.user + "@"
	}
	out += p.hosts
	if p.path != "" {
		out += "/" + p.path
	}
	for i, pair := range strings.Split(p.query, "&") {
		if pair == "" {
			continue
		}
		key, _, _ := strings.Cut(pair, "=")
		if secretKey(key) {
			pair = key + "=" + mask
		}
		out += map[bool]string{true: "?", false: "&"}[i == 0] + pair
	}
	return out
}

// secretKey errs on the safe side: a key that is itself percent-encoded counts as secret.
func secretKey(key string) bool {
	key = strings.ToLower(key)
	return strings.Contains(key, "pass") && key != "passfile" || strings.Contains(key, "secret") || strings.Contains(key, "%")
}

// redactDSN masks the values of secret keys, quoted or not, and all that is no key=value pair.
func redactDSN(s string) string {
	pair := regexp.MustCompile(`([^\s='\\]+)\s*=\s*('(?:[^'\\]|\\.)*'?|(?:[^\s'\\]|\\.)(?:[^\s\\]|\\.?)*)?`)
	var out []string
	end := 0
	for _, at := range pair.FindAllStringIndex(s, -1) {
		if strings.TrimSpace(s[end:at[0]]) != "" {
			out = append(out, mask)
		}
		key, value, _ := strings.Cut(s[at[0]:at[1]], "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if secretKey(key) && value != "" {
			value = mask
		}
		out = append(out, key+"="+value)
		end = at[1]
	}
	if strings.TrimSpace(s[end:]) != "" {
		out = append(out, mask)
	}
	return strings.Join(out, " ")
}
