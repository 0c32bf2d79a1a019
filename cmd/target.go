package cmd

import (
	"context"

	"github.com/todoctl/todoctl/pkg/dbconn"
)

// target tells a person at a terminal, once, which database an operator's verb works on, and how the profile is called that
// named it. It opens no connection.
func (a *App) target(verb string) error {
	if a.told {
		return nil
	}
	a.told = true
	where, err := a.where(verb)
	if err != nil {
		return err
	}
	a.Note("%s on %s", verb, where)
	return nil
}

// where says which database is meant, and how the profile is called that named it.
func (a *App) where(verb string) (string, error) {
	d, err := a.Config.Database()
	if err != nil {
		return "", err
	}
	o, err := a.ConnOptions(verb)
	if err != nil {
		return "", err
	}
	cfg, err := dbconn.ParseConfig(o)
	if err != nil {
		return "", err
	}
	where := dbconn.Identity(cfg)
	if d.Profile != "" {
		where = "profile " + d.Profile + ", " + where
	}
	if o.Schema != "" {
		where += ", schema " + o.Schema
	}
	return where, nil
}

// guard is for a change that does not ask, since what it changes was named: it shows the target, and asks all the same where
// the profile is one of production.
func (a *App) guard(ctx context.Context, verb, question string) error {
	if err := a.target(verb); err != nil {
		return err
	}
	if name, err := a.production(); err != nil || name == "" {
		return err
	}
	return a.Confirm(ctx, question)
}

// production returns the name of the profile that named the database and says that mistakes are dear there; "" where none does.
func (a *App) production() (string, error) {
	d, err := a.Config.Database()
	if err != nil || !d.Production {
		return "", err
	}
	return d.Profile, nil
}
