// Package dbconn is the one way in which todoctl reaches PostgreSQL: every command, migrate included,
// builds its connection here, so that all of them read a URL, a service file or a password alike. It
// also turns what the driver reports into errors that a user can act on, without a secret in them.
package dbconn

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"github.com/todoctl/todoctl/pkg/todo"
)

// DefaultConnectTimeout bounds the attempt to reach one host, where connect_timeout says nothing
// else. A connect_timeout of 0 counts as nothing said: a job in cron must never hang for good.
const DefaultConnectTimeout = 10 * time.Second

// Options says which database to connect to, and as what.
type Options struct {
	URL     string // URL or keyword DSN as the user gave it; "" = the PG* variables and service file alone
	Source  string // where it was said, for messages: "--database-url", "TODOCTL_DATABASE_URL", …
	Schema  string // "" = the server's search_path as it stands
	AppName string // application_name where the user has set none: "todoctl claim"
	Replica bool   // a standby among several hosts is preferred; usage error where there is one host
}

// ParseConfig reads o as libpq would, with the PG* variables, the service file and the passfile.
//
// What a user cannot change: statements run in pgx's exec mode (default_query_exec_mode is read and
// ignored), which prepares nothing by name and so works through a pooler in transaction mode; and
// client_encoding, datestyle and timezone, on which the reading of text results depends. A Schema
// becomes the startup parameter search_path; PgBouncer takes it with track_extra_parameters or
// ignore_startup_parameters.
func ParseConfig(o Options) (*pgx.ConnConfig, error) {
	text := strings.TrimSpace(o.URL)
	if err := checkShape(text, o.Source); err != nil {
		return nil, err
	}
	cfg, err := pgx.ParseConfig(text)
	if err != nil {
		return nil, parseError(err, text, o.Source)
	}
	if err := checkParams(cfg.RuntimeParams, o.Source); err != nil {
		return nil, err
	}
	if unsafePassfile(text) != "" {
		dropPassfile(cfg, text)
	}
	if cfg.RuntimeParams["application_name"] == "" && o.AppName != "" {
		cfg.RuntimeParams["application_name"] = o.AppName
	}
	if o.Schema != "" {
		cfg.RuntimeParams["search_path"] = pgx.Identifier{o.Schema}.Sanitize()
	}
	cfg.RuntimeParams["client_encoding"] = "UTF8"
	cfg.RuntimeParams["datestyle"] = "ISO, MDY"
	cfg.RuntimeParams["timezone"] = "UTC"
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	cfg.StatementCacheCapacity, cfg.DescriptionCacheCapacity = 0, 0
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = DefaultConnectTimeout
	}
	if o.Replica {
		if !severalHosts(cfg) {
			return nil, usage(o.Source, "--read-replica needs a standby to read from, and this names one server").
				WithHint("name the standbys beside it: host=db1,db2, or postgres://db1,db2/…")
		}
		cfg.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPreferStandby
	}
	limitNetwork(cfg)
	// A cancelled context cancels the statement on the server and keeps the connection; without this
	// the statement would go on after the process has gone. The deadline is for a server that is mute.
	cfg.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: 3 * time.Second}
	}
	return cfg, nil
}

// limitNetwork makes the connect timeout cover the name server too, which the driver leaves out, and
// divides it among the addresses of a name, so that one that is mute does not use up all of it.
func limitNetwork(cfg *pgx.ConnConfig) {
	limit, addresses := cfg.ConnectTimeout, new(atomic.Int64)
	addresses.Store(1)
	cfg.LookupFunc = func(ctx context.Context, host string) ([]string, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		found, err := net.DefaultResolver.LookupHost(ctx, host)
		if n := int64(len(found)); n > addresses.Load() {
			addresses.Store(n)
		}
		return found, err
	}
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		d := net.Dialer{Timeout: limit / time.Duration(addresses.Load())}
		return d.DialContext(ctx, network, addr)
	}
}

// Identity names the database that cfg leads to, without a secret: user@host:port/database.
func Identity(cfg *pgx.ConnConfig) string {
	db := cfg.Database
	switch {
	case db == "":
		db = cfg.User // libpq's rule
	case strings.Contains(db, "://"): // a URL in PGDATABASE, which may hold a password
		db = mask
	}
	return cfg.User + "@" + address(cfg.Host, cfg.Port) + "/" + db
}

func address(host string, port uint16) string {
	if strings.HasPrefix(host, "/") {
		return host + ":" + strconv.Itoa(int(port))
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// checkParams drops the keys that other clients put into a URL and that a server would refuse as
// unknown settings, and refuses those whose silent loss would weaken the connection.
func checkParams(params map[string]string, source string) error {
	for key, value := range params { // names of settings have no case, and ours must meet theirs
		if lower := strings.ToLower(key); lower != key {
			delete(params, key)
			params[lower] = value
		}
	}
	for key := range params {
		switch key {
		case "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout",
			"gssencmode", "gsslib", "gssdelegation", "sslcompression", "load_balance_hosts",
			"fallback_application_name":
			delete(params, key)
		case "hostaddr", "requirepeer", "sslcrl", "sslcrldir", "ssl_min_protocol_version",
			"ssl_max_protocol_version", "sslkeylogfile", "replication", "requiressl":
			return usage(source, "the key %s is not supported", key).
				WithHint("leave %s away; help environment lists what can be said", key)
		default:
			if strings.HasPrefix(key, "pool_") { // pgxpool's own keys
				delete(params, key)
			}
		}
	}
	return nil
}

// parseError says what pgx could not read. Its text is taken over only in the parts that cannot hold
// a piece of the password, which pgx itself does not promise for malformed input.
func parseError(err error, text, source string) error {
	var pe *pgconn.ParseConfigError
	if !errors.As(err, &pe) {
		return usage(source, "it cannot be read")
	}
	all := err.Error()
	reason := all[strings.LastIndex(all, "`: ")+len("`: "):]
	code := todo.CodeUsage
	hint := "check it with: psql --no-psqlrc -c 'select 1' DATABASE-URL"
	switch {
	case strings.HasPrefix(reason, "failed to parse"):
		reason, hint = "it is neither a URL nor key=value pairs that PostgreSQL understands", encodingHint
	case strings.HasPrefix(reason, "invalid port"):
		reason = "the port is not a number from 1 to 65535"
	case strings.HasPrefix(reason, "failed to configure TLS ("):
		reason = strings.TrimSuffix(strings.TrimPrefix(reason, "failed to configure TLS ("), ")")
		if reason == "sslmode is invalid" {
			reason, hint = "sslmode is none of its values", "sslmode is one of disable, allow, prefer, require, verify-ca, verify-full"
			break
		}
		code, hint = todo.CodeUnavailable, "sslrootcert, sslcert and sslkey name PEM files that this user can read"
		reason = "TLS: " + reason
	case strings.HasPrefix(reason, "failed to read service ("):
		reason = strings.TrimSuffix(strings.TrimPrefix(reason, "failed to read service ("), ")")
		hint = "the service file is PGSERVICEFILE, else ~/.pg_service.conf"
	}
	e := usage(source, "%s%s", reason, where(text)).WithHint("%s", hint)
	e.Code = code
	return e
}

// usage makes the error for a connection string that cannot be used, naming where it was said.
func usage(source, format string, args ...any) *todo.Error {
	if source == "" {
		source = "the environment"
	}
	e := todo.Errorf(todo.CodeUsage, format, args...)
	e.Message = "the database named by " + source + ": " + e.Message
	return e
}
