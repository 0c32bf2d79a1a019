package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/localpg"
	"github.com/todoctl/todoctl/pkg/queue"
)

// template is the migrated database that every other is a copy of.
const template = "bench_template"

// bench is one run: a private server, the released program, and sizes.
type bench struct {
	opt     options
	dir     string // of the server and of input files; removed at the end
	server  *localpg.Server
	todoctl string // the program as it is released
	psql    string // the real one: Debian's is a script around it
	self    string // this program, as a command for work
	made    int
}

// machine says where the figures come from.
type machine struct {
	Host   string `json:"host"`
	Server string `json:"server"`
}

// settings of the server. Durability stays full: localpg leaves fsync, synchronous_commit and
// full_page_writes at their defaults, which are on.
func settings(small bool) map[string]string {
	s := map[string]string{
		"shared_buffers": "4GB", "max_wal_size": "16GB", "checkpoint_timeout": "15min", "max_connections": "200",
		"shared_preload_libraries": "pg_stat_statements", "pg_stat_statements.track_planning": "on",
	}
	if small {
		s["shared_buffers"], s["max_wal_size"] = "128MB", "1GB"
	}
	return s
}

// start starts the server and builds the program.
func start(ctx context.Context, opt options) (*bench, error) {
	dir, err := os.MkdirTemp(opt.dir, "todoctl-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{opt: opt, dir: dir}
	if err := b.open(ctx); err != nil {
		return nil, fmt.Errorf("%w\n%v", err, b.close())
	}
	return b, nil
}

func (b *bench) open(ctx context.Context) error {
	if err := os.Chmod(b.dir, 0o711); err != nil { // under root the server is another user
		return err
	}
	var err error
	if b.self, err = os.Executable(); err != nil {
		return err
	}
	o := localpg.Options{DataDir: filepath.Join(b.dir, "data"), SocketDir: filepath.Join(b.dir, "s"), Durable: true,
		Settings: settings(b.opt.small), Getenv: os.Getenv}
	if b.server, err = localpg.Start(ctx, o); err != nil {
		return err
	}
	bin, err := localpg.Find(ctx, o)
	if err != nil {
		return err
	}
	b.psql = filepath.Join(bin.Dir, "psql")
	if err := b.build(ctx); err != nil {
		return err
	}
	if err := b.admin(ctx, "CREATE DATABASE "+template+" TEMPLATE template0"); err != nil {
		return err
	}
	if _, err := b.todo(ctx, b.server.URL(template), "", "migrate", "up"); err != nil { // whose schema it is
		return err
	}
	return b.exec(ctx, b.server.URL(template), "CREATE EXTENSION pg_stat_statements")
}

// build builds the program as the release does.
func (b *bench) build(ctx context.Context) error {
	b.todoctl = filepath.Join(cmp.Or(b.opt.bin, b.dir), "todoctl")
	c := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", b.todoctl, ".")
	c.Dir = filepath.Join(source(), "..", "..") // the module of the program, with its own versions
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build todoctl: %w\n%s", err, out)
	}
	return nil
}

// source is the directory of this program's source.
func source() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}

// close stops the server and removes everything.
func (b *bench) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if b.server != nil {
		if err := b.server.Kill(ctx); err != nil {
			return err
		}
	}
	return os.RemoveAll(b.dir)
}

// database makes a migrated database, or an empty one for a peer, and returns what drops it.
func (b *bench) database(ctx context.Context, from string) (url string, drop func(), err error) {
	b.made++
	name := fmt.Sprintf("bench_%d", b.made)
	if err := b.admin(ctx, "CREATE DATABASE "+name+" TEMPLATE "+from); err != nil {
		return "", nil, err
	}
	return b.server.URL(name), func() {
		_ = b.admin(context.WithoutCancel(ctx), "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)") // the whole directory goes at the end
	}, nil
}

func (b *bench) admin(ctx context.Context, sql string) error {
	return b.exec(ctx, b.server.URL("postgres"), sql)
}

// exec runs statements one by one on a connection of their own.
func (b *bench) exec(ctx context.Context, url string, statements ...string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("%.200s: %w", sql, err)
		}
	}
	return nil
}

// client opens a client of the package, on a connection as the program makes it.
func (b *bench) client(ctx context.Context, url string) (*queue.Client, error) {
	cfg, err := dbconn.ParseConfig(dbconn.Options{URL: url, AppName: "bench"})
	if err != nil {
		return nil, err
	}
	return queue.Open(ctx, queue.Options{Prepare: true, Connect: func(ctx context.Context) (*pgx.Conn, error) { return dbconn.ConnectConfig(ctx, cfg) }})
}

// machine describes the host and the server's settings.
func (b *bench) machine(ctx context.Context) (machine, error) {
	m := machine{Host: fmt.Sprintf("%d CPUs, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())}
	conn, err := pgx.Connect(ctx, b.server.URL("postgres"))
	if err != nil {
		return m, err
	}
	defer conn.Close(ctx)
	names := append(slices.Sorted(maps.Keys(settings(b.opt.small))), "fsync", "synchronous_commit", "full_page_writes", "server_version")
	rows, err := conn.Query(ctx, "SELECT n || '=' || current_setting(n) FROM unnest($1::text[]) n", names)
	if err != nil {
		return m, err
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	m.Server = strings.Join(list, " ")
	return m, err
}
