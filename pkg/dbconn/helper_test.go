package dbconn_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/localpg"
	"github.com/todoctl/todoctl/pkg/pgtest"
	"github.com/todoctl/todoctl/pkg/todo"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// refused asserts the code of err, and that its message and hint hold what a user must read.
func refused(t *testing.T, err error, code todo.Code, words ...string) {
	t.Helper()
	var e *todo.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a %s error", err, code)
	}
	if e.Code != code {
		t.Errorf("code %s, want %s: %s", e.Code, code, e.Message)
	}
	for _, w := range words {
		if !strings.Contains(e.Message+"\n"+e.Hint, w) {
			t.Errorf("%q with hint %q does not say %q", e.Message, e.Hint, w)
		}
	}
	if strings.Contains(e.Message+e.Hint, "\n") {
		t.Errorf("more than one line: %q, %q", e.Message, e.Hint)
	}
}

// connect connects as the product does.
func connect(t *testing.T, o dbconn.Options) *pgx.Conn {
	t.Helper()
	conn, err := dbconn.Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dbconn.Close(conn) })
	return conn
}

func run(t *testing.T, c *pgx.Conn, sql string, args ...any) {
	t.Helper()
	if _, err := c.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func text(t *testing.T, c *pgx.Conn, sql string, args ...any) string {
	t.Helper()
	var s string
	if err := c.QueryRow(t.Context(), sql, args...).Scan(&s); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return s
}

// with returns a URL with further query keys.
func with(t *testing.T, s string, pairs ...string) string {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20") // as libpq reads it
	return u.String()
}

// withUser returns a URL for another role.
func withUser(t *testing.T, s, role string) string {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	return u.String()
}

// ownRole makes a role that may log in and nothing else, with the given settings, and drops it when
// the test ends.
func ownRole(t *testing.T, database string, settings ...string) string {
	t.Helper()
	c := pgtest.Connect(t, database)
	role := "app_" + strings.ReplaceAll(text(t, c, "SELECT gen_random_uuid()::text"), "-", "")
	run(t, c, "CREATE ROLE "+role+" LOGIN")
	for _, s := range settings {
		run(t, c, "ALTER ROLE "+role+" SET "+s)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		admin, err := pgx.Connect(ctx, database)
		if err != nil {
			t.Error(err)
			return
		}
		defer dbconn.Close(admin)
		if _, err := admin.Exec(ctx, "DROP OWNED BY "+role+" CASCADE; DROP ROLE "+role); err != nil {
			t.Errorf("drop role: %v", err)
		}
	})
	return role
}

// tcpServer is a server that listens on a loopback port, asks for scram passwords there, and speaks
// TLS where certificates are given.
type tcpServer struct {
	*localpg.Server
	port string
}

func newTCPServer(t *testing.T) tcpServer {
	t.Helper()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	_ = l.Close()
	return tcpServer{pgtest.NewServer(t, func(o *localpg.Options) {
		o.Settings = map[string]string{"listen_addresses": "127.0.0.1", "port": port}
	}), port}
}

// admin connects by the socket, where nothing is asked.
func (s tcpServer) admin(t *testing.T) *pgx.Conn {
	t.Helper()
	return pgtest.Connect(t, with(t, s.URL("postgres"), "port", s.port))
}

// useTLS gives the server a certificate and waits until it has taken it.
func (s tcpServer) useTLS(t *testing.T, cert, key []byte) {
	t.Helper()
	info, err := os.Stat(s.DataDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"server.crt": cert, "server.key": key} {
		file := filepath.Join(s.DataDir(), name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if os.Geteuid() == 0 { // the server runs as another user then
			owner := info.Sys().(*syscall.Stat_t)
			if err := os.Chown(file, int(owner.Uid), int(owner.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := s.admin(t)
	run(t, c, "ALTER SYSTEM SET ssl = on")
	run(t, c, "SELECT pg_reload_conf()")
	block, _ := pem.Decode(cert)
	for !bytes.Equal(s.presented(t), block.Bytes) {
		time.Sleep(10 * time.Millisecond)
	}
}

// presented returns the certificate that the server shows now, nil while it has no TLS.
func (s tcpServer) presented(t *testing.T) []byte {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", "127.0.0.1:"+s.port)
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

// authority makes certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T, name string) authority {
	t.Helper()
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// server makes a certificate for host names, with its key.
func (a authority) server(t *testing.T, hosts ...string) (cert, key []byte) {
	t.Helper()
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "postgres"}, DNSNames: hosts,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			tmpl.IPAddresses = append(tmpl.IPAddresses, ip)
		}
	}
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, a.cert, &k.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	kder, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: kder})
}

// file writes content into a new file and returns its path.
func file(t *testing.T, name string, content []byte, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
	return path
}
