package cmd

import (
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/config"
	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const configHelp = `Show each setting with its value and the place that it came from: flag, variable, config file and key, or
default. The row "database" is the database that a command would work on, and says who named it. Passwords
are masked. No connection is made.

A setting that cannot be used is told of in its row; so is a database that is not clear. The exit status is 0
all the same, so that a script can read the rows.`

const configExample = `  todoctl config
  todoctl config -o json --jq '.[] | select(.source != "default")'
  todoctl config ttl queue`

// setting is one row of the answer.
type setting struct {
	Name     string  `json:"name"`
	Value    *string `json:"value"`
	Source   string  `json:"source"`
	Error    *string `json:"error"` // why the value cannot be used
	Flag     *string `json:"flag"`
	Variable *string `json:"variable"`
	Key      *string `json:"key"`
	Meaning  string  `json:"meaning"`

	fault error // what Error says, with its hint
}

func newConfig(app *App) *cobra.Command {
	c := &cobra.Command{
		Use: "config [NAME...]", Short: "Show each setting and where it comes from", Long: configHelp, Example: configExample,
		GroupID: groupDatabase, ValidArgsFunction: completeSettings,
		Args: func(_ *cobra.Command, args []string) error { return checkSettings(args) },
		RunE: func(_ *cobra.Command, args []string) error { return runConfig(app, args) },
	}
	return exitStatus(c)
}

func configShape() render.Shape {
	return render.Shape{Many: true, ID: "name", Fields: render.FieldsOf(setting{}),
		Table: []string{"name", "value", "source"}, Wide: []string{"name", "value", "source", "variable", "key", "meaning"},
		TSV: []string{"name", "value", "source"}}
}

func runConfig(app *App, wanted []string) error {
	w, err := app.Answer(configShape(), time.Time{})
	if err != nil {
		return err
	}
	for _, s := range app.settings() {
		if len(wanted) > 0 && !slices.Contains(wanted, s.Name) {
			continue
		}
		if s.Error != nil {
			app.Warn("%s: %v", s.Name, withHint(s.fault))
		}
		if err := w.Row(s); err != nil {
			return err
		}
	}
	return w.Close()
}

// settings lists what is in force. The first row is the database that all of them come to.
func (a *App) settings() []setting {
	db, err := a.Config.Database()
	all := []setting{a.databaseSetting(db, err)}
	for _, v := range config.Variables() {
		value := a.Config.Value(v.Name)
		s := setting{Name: v.Name, Value: orNull(value.Text), Source: value.Source, Flag: orNull(v.Flag),
			Variable: orNull(v.Env), Key: orNull(v.Key), Meaning: v.Meaning}
		s.refuse(a.checkSetting(v.Name))
		switch v.Name {
		case "database-url":
			s.Value = orNull(dbconn.Redact(value.Text))
		case "config":
			s.Value = orNull(a.Config.Path)
		case "owner":
			if !value.IsSet() {
				s.Value = orNull(a.me())
			}
		case "schema":
			if err == nil && db.Schema != value.Text {
				s.Value, s.Source = orNull(db.Schema), db.Source
			}
		case "profile":
			s.Value = orNull(db.Profile)
		}
		all = append(all, s)
	}
	return all
}

// databaseSetting is the database that a command would work on, named without its password.
func (a *App) databaseSetting(db config.Database, err error) setting {
	s := setting{Name: "database", Source: db.Source, Meaning: "the database that a command works on"}
	if err == nil && db.URL != "" {
		s.Value = orNull(dbconn.Redact(db.URL))
	}
	if err == nil {
		cfg, parseErr := dbconn.ParseConfig(dbconn.Options{URL: db.URL, Source: db.Source, Schema: db.Schema, AppName: "todoctl config"})
		if err = parseErr; err == nil && db.URL == "" {
			s.Value = orNull(dbconn.Identity(cfg))
		}
	}
	s.refuse(err)
	return s
}

// checkSetting returns why a command that needs the setting would refuse it.
func (a *App) checkSetting(name string) error {
	var err error
	switch name {
	case "ttl", "timeout", "retry-base", "retry-cap":
		_, err = a.Config.Duration(name)
	case "redact":
		_, err = a.Config.Strings(name)
	case "queue":
		list, listErr := a.Config.Strings(name)
		err = listErr
		for _, q := range list {
			if err == nil {
				err = todo.CheckQueue(q)
			}
		}
	case "owner":
		_, _, err = a.Owner()
	case "output":
		if v := a.Config.Value(name); v.IsSet() {
			err = render.Check(configShape(), render.Options{Format: v.Text, Source: v.Source})
		}
	}
	return err
}

// refuse says why the value cannot be used.
func (s *setting) refuse(err error) {
	if err != nil {
		text := err.Error()
		s.Error, s.fault = &text, err
	}
}

// checkSettings refuses the names of settings that do not exist.
func checkSettings(args []string) error {
	known := settingNames()
	for _, name := range args {
		if slices.Contains(known, name) {
			continue
		}
		e := usagef("there is no setting %q", name)
		if near := todo.Nearest(name, known); near != "" {
			return e.WithHint("did you mean %s?", near)
		}
		return e.WithHint("todoctl config lists them")
	}
	return nil
}

func settingNames() []string {
	all := []string{"database"}
	for _, v := range config.Variables() {
		all = append(all, v.Name)
	}
	return all
}

func completeSettings(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var rest []string
	for _, name := range settingNames() {
		if !slices.Contains(args, name) {
			rest = append(rest, name)
		}
	}
	return rest, cobra.ShellCompDirectiveNoFileComp
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
