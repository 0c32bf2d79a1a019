package pgnet

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/localpg"
	"github.com/todoctl/todoctl/pkg/pgtest"
)

// Server is a PostgreSQL of one test that listens on 127.0.0.1 and asks for scram passwords there.
type Server struct {
	*localpg.Server
	Port string
}

// NewServer starts one, which ends with the test.
func NewServer(t testing.TB) Server {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // the server takes the port over
	return Server{pgtest.NewServer(t, func(o *localpg.Options) {
		o.Settings = map[string]string{"listen_addresses": "127.0.0.1", "port": port}
	}), port}
}

// SocketURL is the URL by the server's socket, where no password is asked.
func (s Server) SocketURL(database string) string {
	u, err := url.Parse(s.URL(database))
	if err != nil {
		return "" // a URL of our own making is one
	}
	q := u.Query()
	q.Set("port", s.Port)
	u.RawQuery = q.Encode()
	return u.String()
}

// Exec runs statements as the superuser.
func (s Server) Exec(t testing.TB, statements ...string) {
	t.Helper()
	conn := pgtest.Connect(t, s.SocketURL("postgres"))
	for _, sql := range statements {
		if _, err := conn.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// UseTLS gives the server a certificate with its key, and returns when it shows that one.
func (s Server) UseTLS(t testing.TB, cert, key []byte) {
	t.Helper()
	// By the server's own hand: it runs as another user where the test is root.
	write := func(name string, content []byte) string {
		return "COPY (SELECT unnest(string_to_array('" + strings.TrimSpace(string(content)) + "', E'\\n'))) TO PROGRAM 'umask 077 && cat > " + name + "'"
	}
	s.Exec(t, write("server.crt", cert), write("server.key", key), "ALTER SYSTEM SET ssl = on", "SELECT pg_reload_conf()")
	block, _ := pem.Decode(cert)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !bytes.Equal(s.presented(t), block.Bytes) {
		<-tick.C
	}
}

// presented returns the certificate that the server shows now, nil while it has no TLS.
func (s Server) presented(t testing.TB) []byte {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", s.Port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answer := make([]byte, 1)
	if _, err := conn.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}); err != nil { // SSLRequest
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, answer); err != nil || answer[0] != 'S' {
		return nil
	}
	client := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) // it is only looked at
	if err := client.HandshakeContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return client.ConnectionState().PeerCertificates[0].Raw
}

// MuteListener listens on a loopback port and answers nothing. It returns host:port and a channel
// that tells of each connection that came in.
func MuteListener(t testing.TB) (address string, accepted <-chan struct{}) {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	seen := make(chan struct{}, 100)
	done := make(chan struct{})
	go func() {
		defer close(done)
		var held []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			held = append(held, c)
			seen <- struct{}{}
		}
		for _, c := range held {
			_ = c.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String(), seen
}

// DeadPort returns a loopback host:port on which nothing listens.
func DeadPort(t testing.TB) string {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
