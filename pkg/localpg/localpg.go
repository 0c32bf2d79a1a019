// Package localpg runs a private PostgreSQL server from binaries that are installed on this
// machine: it finds them, makes a data directory, starts the server on a Unix socket that nobody
// else can reach, attaches to one that already runs, and stops it. It downloads nothing, opens no
// port, and never deletes a data directory.
//
// PostgreSQL refuses to run as root. Under root the server runs as the user postgres, else nobody.
package localpg

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/todoctl/todoctl/pkg/todo"
)

const (
	// Superuser is the role that initdb makes and that URL connects as.
	Superuser = "postgres"
	// Database is the database that is made together with the data directory.
	Database = "todoctl"

	port = "5432" // names the socket file only; the directory is what keeps servers apart
)

// Options say which server is meant and how it runs.
type Options struct {
	BinDir    string // directory of postgres and initdb; "" searches for it
	DataDir   string // made when missing, never deleted; absolute
	SocketDir string // "" is a short private directory
	// Seed is a stopped data directory that is copied instead of running initdb, which takes a
	// tenth of the time. Only tests want it.
	Seed string
	// Durable false turns fsync and the like off. That is for tests: a crash of the machine then
	// loses the data.
	Durable  bool
	Settings map[string]string // further server settings; they win over our own
	// Getenv is where PATH, TODOCTL_PG_BIN and the XDG directories are looked up; nil is an
	// empty environment.
	Getenv func(string) string
}

// Server is a running PostgreSQL server.
type Server struct {
	opts     Options
	pid      int
	socket   string // directory of the socket
	started  time.Time
	attached bool
	exited   chan struct{} // closed when the process was reaped; nil when it is not our child
}

// What a server can be doing.
const (
	StateRunning     = "running"
	StateStarting    = "starting"    // or recovering, or shutting down
	StateUnreachable = "unreachable" // it runs, but its socket is gone
	StateStopped     = "stopped"
)

// Status is what is known about a server, running or not.
type Status struct {
	State     string     `json:"state"` // StateRunning and so on
	URL       *string    `json:"url"`
	PID       *int       `json:"pid"`
	Version   *string    `json:"version"` // major version of the data directory
	StartedAt *time.Time `json:"started_at"`
	DataDir   string     `json:"data_dir"`
	SocketDir *string    `json:"socket_dir"`
	Log       string     `json:"log"`
}

// URL returns a connection URL for database, which pgx and libpq (psql, pg_dump) read alike.
func (s *Server) URL(database string) string { return socketURL(s.socket, database) }

// PID returns the process id of the postmaster.
func (s *Server) PID() int { return s.pid }

// SocketDir returns the directory of the server's socket.
func (s *Server) SocketDir() string { return s.socket }

// DataDir returns the server's data directory.
func (s *Server) DataDir() string { return s.opts.DataDir }

// Attached reports whether the server was already running when Start was asked for it.
func (s *Server) Attached() bool { return s.attached }

// LogFile returns the file that the server of these options writes its log to. It lies beside
// the data directory, not in it: root must not follow a link that the server's user could plant.
func (o Options) LogFile() string { return filepath.Clean(o.DataDir) + ".log" }

func (o Options) lockFile() string { return filepath.Clean(o.DataDir) + ".lock" }

func (o Options) getenv(name string) string {
	if o.Getenv == nil {
		return ""
	}
	return o.Getenv(name)
}

func (o Options) check() error {
	switch {
	case o.DataDir == "":
		return todo.Errorf(todo.CodeUsage, "no data directory was named for the local server")
	case !filepath.IsAbs(o.DataDir):
		return todo.Errorf(todo.CodeUsage, "data directory %s is not an absolute path", o.DataDir)
	case o.SocketDir != "" && !filepath.IsAbs(o.SocketDir):
		return todo.Errorf(todo.CodeUsage, "socket directory %s is not an absolute path", o.SocketDir)
	case strings.Contains(o.SocketDir, ","):
		return todo.Errorf(todo.CodeUsage, "socket directory %s has a comma in its name, which connection URLs take for two hosts", o.SocketDir)
	}
	// The socket directory is a line of postmaster.pid, and both are words of a log.
	for _, dir := range []string{o.DataDir, o.SocketDir} {
		if strings.ContainsAny(dir, "\n\r\x00") {
			return todo.Errorf(todo.CodeUsage, "directory %q has a line break in its name", dir)
		}
	}
	return nil
}

// dataVersion returns the major version that made the data directory, "" when there is none.
func (o Options) dataVersion() (string, error) {
	b, err := os.ReadFile(filepath.Join(o.DataDir, "PG_VERSION"))
	if os.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", denied(err, "read data directory %s", o.DataDir)
	}
	return strings.TrimSpace(string(b)), nil
}

// socketURL spells the URL so that both parsers agree: libpq does not read + as a space, net/url does.
func socketURL(dir, database string) string {
	host := strings.ReplaceAll(url.QueryEscape(dir), "+", "%20")
	return "postgres://" + Superuser + "@/" + url.PathEscape(database) +
		"?host=" + strings.ReplaceAll(host, "%2F", "/") + "&port=" + port
}

// settings returns the server's settings as arguments, in a fixed order.
func (o Options) settings(socketDir string) []string {
	set := map[string]string{
		"listen_addresses": "",
		// Quoted, since the setting is a list and a directory may have a blank in its name.
		"unix_socket_directories": `"` + strings.ReplaceAll(socketDir, `"`, `""`) + `"`,
		"unix_socket_permissions": "0700",
		"port":                    port,
		"logging_collector":       "off",
		"log_timezone":            "UTC",
		"timezone":                "UTC",
	}
	if !o.Durable {
		for k, v := range map[string]string{
			"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off",
			"shared_buffers": "32MB", "max_connections": "200", "max_wal_size": "256MB",
			// In the data directory, so that it goes with it, also after kill -9.
			"dynamic_shared_memory_type": "mmap",
		} {
			set[k] = v
		}
	}
	for k, v := range o.Settings {
		set[k] = v
	}
	var args []string
	for k, v := range set {
		args = append(args, k+"="+v)
	}
	slices.Sort(args)
	for i := range args {
		args[i] = "--" + args[i]
	}
	return args
}

func denied(err error, format string, args ...any) error {
	code := todo.CodeInternal
	if os.IsPermission(err) {
		code = todo.CodeDenied
	}
	e := todo.Errorf(code, format+": %v", append(args, err)...)
	e.Err = err
	return e
}
