package pgtest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/localpg"
	"github.com/todoctl/todoctl/pkg/migrate"
)

// template is the migrated database that every test's database is a copy of.
const template = "todoctl_template"

// shared is the server of this test binary. It is the one package variable here: testing.M has no
// place to hang a value on, and tests of one package reach each other in no other way.
var shared cluster

// cluster is a server that starts on first use.
type cluster struct {
	mu       sync.Mutex
	home     *home
	server   *localpg.Server
	err      error
	migrated bool
	made     atomic.Int64
}

func (c *cluster) get() (*localpg.Server, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.start()
}

// start starts the server once. A failure stays: a hundred tests shall not each wait for it again.
func (c *cluster) start() (*localpg.Server, error) {
	if c.server != nil || c.err != nil {
		return c.server, c.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	sweep(ctx)
	c.server, c.err = c.startIn(ctx)
	return c.server, c.err
}

func (c *cluster) startIn(ctx context.Context) (*localpg.Server, error) {
	h, err := newHome()
	if err != nil {
		return nil, err
	}
	c.home = h
	o, err := prepare(ctx, h)
	if err != nil {
		return nil, err
	}
	return localpg.Start(ctx, o)
}

// stop ends the server without ceremony: nobody reads its data again.
func (c *cluster) stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.home == nil {
		return nil
	}
	h := c.home
	c.home, c.server = nil, nil
	return h.remove()
}

// migrate makes the template, once.
func (c *cluster) migrate() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.migrated {
		return nil
	}
	s, err := c.start()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := admin(ctx, s, "CREATE DATABASE "+template+" TEMPLATE template0"); err != nil {
		return err
	}
	if err := migrateUp(ctx, s.URL(template)); err != nil {
		return fmt.Errorf("migrate the template database: %w", err)
	}
	// Nobody can connect to it any more, so no copy ever finds it in use.
	if err := admin(ctx, s, "ALTER DATABASE "+template+" ALLOW_CONNECTIONS false"); err != nil {
		return err
	}
	c.migrated = true
	return nil
}

// create makes a database and returns its URL and what drops it.
func (c *cluster) create(from string) (string, func(), error) {
	s, err := c.get()
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	name := fmt.Sprintf("test_%d", c.made.Add(1))
	if err := admin(ctx, s, "CREATE DATABASE "+name+" TEMPLATE "+from); err != nil {
		return "", nil, err
	}
	return s.URL(name), func() { c.drop(name) }, nil
}

// drop drops a database. That it cannot, because a test stopped the server, is no fault.
func (c *cluster) drop(name string) {
	c.mu.Lock()
	s := c.server
	c.mu.Unlock()
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_ = admin(ctx, s, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)")
}

func admin(ctx context.Context, s *localpg.Server, sql string) error {
	conn, err := connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}

func migrateUp(ctx context.Context, url string) error {
	cfg, err := dbconn.ParseConfig(dbconn.Options{URL: url, Source: "pgtest", AppName: "pgtest"})
	if err != nil {
		return err
	}
	_, err = migrate.New(cfg, "", nil).Up(ctx)
	return err
}
