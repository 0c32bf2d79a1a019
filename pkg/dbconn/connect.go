package dbconn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Connect reads o and connects. The error names the server and the reason, and never a secret.
func Connect(ctx context.Context, o Options) (*pgx.Conn, error) {
	cfg, err := ParseConfig(o)
	if err != nil {
		return nil, err
	}
	return ConnectConfig(ctx, cfg)
}

// ConnectConfig connects by a config that ParseConfig made. Each host that was named gets the connect
// timeout once, however many addresses it has and whatever TLS modes are tried on it.
func ConnectConfig(ctx context.Context, cfg *pgx.ConnConfig) (*pgx.Conn, error) {
	hosts := map[string]bool{address(cfg.Host, cfg.Port): true}
	for _, f := range cfg.Fallbacks {
		hosts[address(f.Host, f.Port)] = true
	}
	limited, cancel := context.WithTimeout(ctx, cfg.ConnectTimeout*time.Duration(len(hosts)))
	defer cancel()
	cfg = cfg.Copy()
	defer ahead(limited, cfg)()
	conn, err := pgx.ConnectConfig(limited, cfg)
	if err != nil {
		return nil, connectError(ctx, cfg, err)
	}
	return conn, nil
}

// ahead dials the first host before the driver does, where no name has to be looked up: a server makes a process for a connection as
// soon as it accepts it, and that goes on while the driver sets up its types. The driver is handed what came of it when it dials that
// address; the returned function closes what it never asked for.
func ahead(ctx context.Context, cfg *pgx.ConnConfig) (end func()) {
	if !strings.HasPrefix(cfg.Host, "/") && net.ParseIP(cfg.Host) == nil {
		return func() {}
	}
	dial := cfg.DialFunc
	network, addr := pgconn.NetworkAddress(cfg.Host, cfg.Port)
	conn, err := dial(ctx, network, addr)
	taken := false
	cfg.DialFunc = func(ctx context.Context, n, a string) (net.Conn, error) {
		if taken || n != network || a != addr {
			return dial(ctx, n, a)
		}
		taken = true
		return conn, err
	}
	return func() {
		if !taken && err == nil {
			_ = conn.Close()
		}
	}
}

// Close says goodbye and closes conn. It does not wait for the server to hang up.
func Close(conn *pgx.Conn) {
	if conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // there is nothing left to lose: what was committed has been answered
}

// connectError explains a failed connection attempt.
func connectError(ctx context.Context, cfg *pgx.ConnConfig, err error) error {
	if e := contextError(ctx, err); e != nil {
		e = e.With("server", Identity(cfg))
		e.Message += " (connecting to " + servers(cfg) + ")"
		return e
	}
	id := Identity(cfg)
	var pg *pgconn.PgError
	if errors.As(err, &pg) { // the first that there was: with sslmode=prefer that of the try with TLS
		e := serverError(pg)
		e.Message = "cannot connect as " + id + ": " + e.Message
		e.Err = err
		switch pg.Code {
		case "42704", "22023", "42601": // a key of the URL, or its value, that the server does not know
			e.Code = todo.CodeUsage
			e.Hint = "the URL, a PG* variable or the service file names a setting that this server does not have"
		case "42501":
			e.Hint = "ask the owner of the database to grant CONNECT on it to this role"
		}
		return e.With("server", id)
	}
	e := todo.Errorf(todo.CodeUnavailable, "cannot reach PostgreSQL at %s: %s", servers(cfg), reasons(err, cfg.ConnectTimeout))
	e.Err = err
	e.Hint = "is the server running there, and is that the right host and port?"
	switch {
	case tlsOnly(cfg) && tlsReason(err) != "":
		e.Hint = "check sslmode, sslrootcert and the host name; nothing was sent in clear"
	case wrongKind(err) != "":
		e.Hint = "target_session_attrs asks for another kind of server than those that answer"
	case strings.HasPrefix(cfg.Host, "/"):
		e.Hint = "no server listens on that socket; name a host, or start a private server: todoctl local start"
	}
	return e.With("server", id)
}

// wrongKind returns what a server is that target_session_attrs does not want.
func wrongKind(err error) string {
	for _, k := range []struct {
		err  error
		text string
	}{
		{pgconn.ErrReadOnlyConnection, "it is read-only"}, {pgconn.ErrReadWriteConnection, "it is not read-only"},
		{pgconn.ErrPrimaryConnection, "it is a primary"}, {pgconn.ErrStandbyConnection, "it is a standby"},
	} {
		if errors.Is(err, k.err) {
			return k.text
		}
	}
	return ""
}

// tlsOnly says whether cfg never connects in clear.
func tlsOnly(cfg *pgx.ConnConfig) bool {
	for _, f := range cfg.Fallbacks {
		if f.TLSConfig == nil {
			return false
		}
	}
	return cfg.TLSConfig != nil
}

// severalHosts says whether cfg names more than one server.
func severalHosts(cfg *pgx.ConnConfig) bool {
	for _, f := range cfg.Fallbacks {
		if f.Host != cfg.Host || f.Port != cfg.Port {
			return true
		}
	}
	return false
}

// servers lists host:port of every host in cfg, once.
func servers(cfg *pgx.ConnConfig) string {
	list := []string{address(cfg.Host, cfg.Port)}
	for _, f := range cfg.Fallbacks {
		if a := address(f.Host, f.Port); a != list[len(list)-1] {
			list = append(list, a)
		}
	}
	return strings.Join(list, ", ")
}

// reasons puts the failed tries into one line: the last for each address, since with sslmode=prefer
// a try with TLS comes before the one without.
func reasons(err error, limit time.Duration) string {
	tries := []error{err}
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) {
		tries = many.Unwrap()
	}
	var order []string
	last := map[string]string{}
	for _, t := range tries {
		where, _, _ := strings.Cut(t.Error(), " (")
		if _, ok := last[where]; !ok {
			order = append(order, where)
		}
		last[where] = reason(t, limit)
	}
	var out []string
	for i, where := range order {
		if text := last[where]; i == 0 || text != last[order[i-1]] {
			out = append(out, text)
		}
	}
	return strings.Join(out, "; ")
}

// reason is the cause of one failed try in a few words.
func reason(err error, limit time.Duration) string {
	var dns *net.DNSError
	var op *net.OpError
	var ne net.Error
	text := tlsReason(err)
	switch {
	case wrongKind(err) != "":
		return wrongKind(err)
	case errors.As(err, &dns):
		return fmt.Sprintf("the name %s does not resolve (%s)", dns.Name, dns.Err)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &ne) && ne.Timeout():
		return fmt.Sprintf("no answer within %s", limit)
	case text != "":
		return text
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the server closed the connection during the handshake"
	case errors.As(err, &op):
		return op.Err.Error()
	}
	text = err.Error()
	if i := strings.LastIndex(text, "): "); i >= 0 { // the driver's "address (host): "
		text = text[i+len("): "):]
	}
	return strings.ReplaceAll(text, "\n", " ")
}

// tlsReason returns why TLS failed, or "" when something else did.
func tlsReason(err error) string {
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	text := strings.ReplaceAll(err.Error(), "\n", " ")
	switch {
	case errors.As(err, &cert):
		return "TLS: " + strings.TrimPrefix(cert.Err.Error(), "x509: ")
	case errors.As(err, &record):
		return "TLS: the server does not speak TLS there"
	case strings.Contains(text, "server refused TLS connection"):
		return "TLS: the server does not offer it"
	}
	for _, mark := range []string{"x509: ", "tls: ", "tls error: "} {
		if _, after, ok := strings.Cut(text, mark); ok {
			return "TLS: " + after
		}
	}
	return ""
}
