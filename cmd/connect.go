package cmd

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/queue"
)

// ConnOptions returns how to reach the database that the settings name.
func (a *App) ConnOptions(verb string) (dbconn.Options, error) {
	d, err := a.Config.Database()
	return dbconn.Options{URL: d.URL, Source: d.Source, Schema: d.Schema, AppName: "todoctl " + verb, Replica: a.Flags.ReadReplica}, err
}

// Queue connects, once, and returns the client.
func (a *App) Queue(ctx context.Context, verb string) (*queue.Client, error) {
	if a.queue != nil {
		return a.queue, nil
	}
	o, err := a.ConnOptions(verb)
	if err != nil {
		return nil, err
	}
	cfg, err := dbconn.ParseConfig(o)
	if err != nil {
		return nil, err
	}
	if o.Source == "--database-url" && dbconn.HasPassword(o.URL) {
		a.Warn("the password in --database-url shows in ps; use .pgpass, --database-url-file or TODOCTL_DATABASE_URL")
	}
	for _, w := range dbconn.Warnings(o) {
		a.Warn("%s", w)
	}
	base, err := a.Config.Duration("retry-base")
	if err != nil {
		return nil, err
	}
	limit, err := a.Config.Duration("retry-cap")
	if err != nil {
		return nil, err
	}
	images, err := a.Config.Duration("before-images")
	if err != nil {
		return nil, err
	}
	journal, err := a.Config.Duration("keep-journal")
	if err != nil {
		return nil, err
	}
	who, _, err := a.Owner()
	if err != nil {
		who = a.me() // the verbs that need the setting refuse it themselves
	}
	a.queue, err = queue.Open(ctx, queue.Options{RetryBase: base, RetryCap: limit, BeforeImages: images, KeepJournal: journal, Who: who, Host: hostname(), Told: a.tellFaults(),
		Connect: func(ctx context.Context) (*pgx.Conn, error) { return dbconn.ConnectConfig(ctx, cfg) }})
	if err == nil && a.Flags.ReadReplica {
		err = a.tellReplica(ctx, a.queue)
	}
	return a.queue, err
}

// tellFaults warns of the first rows that a verb had to leave out.
func (a *App) tellFaults() func(string, error) {
	n := 0
	return func(id string, why error) {
		if n++; n <= 20 {
			a.Warn("%s is left out: %v", id, why)
		}
	}
}
