package cmd_test

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/pgnet"
)

// A transition is one network turn after the connection: two in all where the server trusts the client, two more
// for a password, and three for TLS. On a server 30 ms away each is 30 ms.
func TestTurns(t *testing.T) {
	t.Parallel()
	s := pgnet.NewServer(t)
	s.Exec(t, "CREATE ROLE todoctl SUPERUSER LOGIN PASSWORD 'pw'", "CREATE DATABASE todoctl_turns")
	socket := pgURLQuery(t, s.SocketURL("todoctl_turns"))
	trusted := pgnet.NewTurns(t, "unix", filepath.Join(socket.Get("host"), ".s.PGSQL."+s.Port))
	asked := pgnet.NewTurns(t, "tcp", "127.0.0.1:"+s.Port)
	newCLIOn(t, s.SocketURL("todoctl_turns")).ok("migrate", "up")
	cert, key := pgnet.NewAuthority(t, "any").Server(t, "127.0.0.1")
	s.UseTLS(t, cert, key)
	by := "postgres://todoctl:pw@" + asked.Address() + "/todoctl_turns?sslmode="
	for _, x := range []struct {
		name, url string
		turns     *pgnet.Turns
		want, or  int
	}{
		{"trust", asKeys(t, "postgres:///todoctl_turns", "host", trusted.Dir(), "port", "5432", "user", socket.Get("user")), trusted, 2, 2},
		{"scram", by + "disable", asked, 4, 4},
		// Seven and the farewell; a ticket that the server sends between two messages of the client is not waited for.
		{"scram and TLS", by + "require", asked, 8, 9},
	} {
		c := newCLIOn(t, x.url)
		turns := func(args ...string) string {
			t.Helper()
			x.turns.Take()
			out := c.ok(args...)
			if n := x.turns.Take(); n != x.want && n != x.or {
				t.Errorf("%s: todoctl %s took %d turns, want %d", x.name, strings.Join(args, " "), n, x.want)
			}
			return out
		}
		turns("enqueue", "-q", "q", "1")
		first := turns("claim", "-q", "q", "-o", "receipt")
		turns("heartbeat", first)
		turns("release", first)
		turns("complete", turns("claim", "-q", "q,r", "-o", "receipt"))
		turns("enqueue", "-q", "q", "--key", x.name, "2")
		turns("enqueue", "-q", "q", "--key", x.name, "2") // a duplicate
		turns("fail", turns("claim", "-q", "q", "-o", "receipt"), "--error", "e")
		turns("show", first)
	}
}

// pgURLQuery returns the parameters of a URL, with its user among them.
func pgURLQuery(t *testing.T, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("user", u.User.Username())
	return q
}
