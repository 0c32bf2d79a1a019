package cmd

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/localpg"
	"github.com/todoctl/todoctl/pkg/migrate"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const localHelp = `A PostgreSQL server of your own, made of the binaries that are installed on this machine. It is reached by
a socket in a directory that only you can enter, and opens no port. Its data lies in
$XDG_STATE_HOME/todoctl/pg/default (~/.local/state, for root /var/lib) and is never deleted by todoctl.

While it runs, every command uses it unless another database is named.`

const localExample = `  todoctl local start
  eval "$(todoctl local env)"`

func newLocal(app *App) *cobra.Command {
	c := &cobra.Command{
		Use: "local", Short: "Run a private PostgreSQL from installed binaries", Long: localHelp, Example: localExample,
		GroupID: groupDatabase, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			return usagef("local needs a verb").WithHint("todoctl local start, stop, status, url, env or psql")
		},
	}
	c.AddCommand(newLocalStart(app), newLocalStop(app), newLocalStatus(app), newLocalURL(app), newLocalEnv(app), newLocalPsql(app))
	return exitStatus(c)
}

// localCommand makes a verb of local. The flags that name another database are refused: what they
// name is not what the verb works on.
func localCommand(app *App, c *cobra.Command, run func(context.Context, localpg.Options, []string) error, codes ...todo.Code) *cobra.Command {
	if c.Args == nil {
		c.Args = cobra.NoArgs
	}
	c.ValidArgsFunction = cobra.NoFileCompletions
	c.RunE = func(c *cobra.Command, args []string) error {
		for _, name := range []string{"database-url", "database-url-file", "profile"} {
			if c.Flags().Changed(name) {
				return usagef("--%s names another database than the local server", name).
					WithHint("leave it away, or use psql and todoctl migrate up there")
			}
		}
		o, err := localpg.DefaultOptions(app.Getenv)
		if err != nil {
			return err
		}
		return run(c.Context(), o, args)
	}
	return exitStatus(c, append(codes, todo.CodeUnavailable, todo.CodeDenied, todo.CodeTimeout, todo.CodeInterrupted)...)
}

// localStatus is what start, stop and status answer.
type localStatus struct {
	localpg.Status
	Changed bool     `json:"changed"` // start started it, stop stopped it
	Applied []string `json:"applied"` // versions that start migrated to
}

func localShape() render.Shape {
	return render.Shape{
		Fields: []string{"state", "url", "pid", "version", "started_at", "data_dir", "socket_dir", "log", "changed", "applied"},
		Table:  []string{"state", "url", "pid", "version", "started_at", "data_dir", "log"},
		TSV:    []string{"state", "url", "pid", "data_dir"},
		ID:     "url",
	}
}

const localStartHelp = `Start the local server, or find it running. What is missing is made first: the data directory, the
database, and the tables of todoctl in it. The server goes on until "todoctl local stop", or until the machine stops.`

const localStartExample = `  todoctl local start
  todoctl local start --jq .url`

func newLocalStart(app *App) *cobra.Command {
	var bin textFlag
	c := &cobra.Command{Use: "start", Short: "Start the local server and migrate it", Long: localStartHelp, Example: localStartExample}
	c.Flags().Var(&bin, "pg-bin", "directory of postgres and initdb, where the newest found is not the right one")
	return localCommand(app, c, func(ctx context.Context, o localpg.Options, _ []string) error {
		if err := app.Check(localShape()); err != nil {
			return err
		}
		o.BinDir = bin.String()
		s, err := localpg.Start(ctx, o)
		if err != nil {
			return app.withLog(err)
		}
		r, err := app.migrateLocal(ctx, s)
		if err != nil {
			return err
		}
		app.warnOutranked(s)
		st, err := o.Status()
		if err != nil {
			return err
		}
		return app.Report(localShape(), localStatus{st, !s.Attached(), r.Applied})
	}, todo.CodeSchema)
}

func (a *App) migrateLocal(ctx context.Context, s *localpg.Server) (migrate.Result, error) {
	schema, err := a.localSchema()
	if err != nil {
		return migrate.Result{}, err
	}
	cfg, err := dbconn.ParseConfig(dbconn.Options{URL: s.URL(localpg.Database), Source: "the local server",
		Schema: schema, AppName: "todoctl local start"})
	if err != nil {
		return migrate.Result{}, err
	}
	return migrate.New(cfg, schema, func(line string) { a.Note("%s", line) }).Up(ctx)
}

// localSchema is the schema that commands will use there: a profile's own belongs to its database.
func (a *App) localSchema() (string, error) {
	if !a.Config.Value("schema").IsSet() {
		return "", nil
	}
	return a.Config.String("schema")
}

// warnOutranked says so when other commands will not use the server that was just started.
func (a *App) warnOutranked(s *localpg.Server) {
	d, err := a.Config.Database()
	switch {
	case err != nil:
		a.Warn("other commands cannot use this server yet: %v", err)
	case !d.Local && d.URL != s.URL(localpg.Database):
		a.Warn(`%s names another database, and other commands use that one; to use this server: eval "$(todoctl local env)"`, d.Source)
	}
}

// withLog prints the last lines of the server's log before the error that they explain.
func (a *App) withLog(err error) error {
	if lines, ok := detailsOf(err)["log"].([]string); ok && !a.json() {
		for _, line := range lines {
			a.Warn("log: %s", render.Clean(line))
		}
	}
	return err
}

const localStopHelp = `Stop the local server in order. Open transactions are rolled back; the data stays. One that does not run is
no error.`

const localStopExample = `  todoctl local stop
  todoctl local stop --timeout 30s`

func newLocalStop(app *App) *cobra.Command {
	c := &cobra.Command{Use: "stop", Short: "Stop the local server, and keep its data", Long: localStopHelp, Example: localStopExample}
	return localCommand(app, c, func(ctx context.Context, o localpg.Options, _ []string) error {
		if err := app.Check(localShape()); err != nil {
			return err
		}
		stopped, err := localpg.Stop(ctx, o)
		if err != nil {
			return err
		}
		st, err := o.Status()
		if err != nil {
			return err
		}
		return app.Report(localShape(), localStatus{st, stopped, []string{}})
	})
}

const localStatusHelp = `Tell what the local server is doing: running, starting, unreachable (it runs, but its socket is gone) or
stopped. Exit 0 means that it runs.`

const localStatusExample = `  todoctl local status
  todoctl local status -o json --jq .pid`

func newLocalStatus(app *App) *cobra.Command {
	c := &cobra.Command{Use: "status", Short: "Tell whether the local server runs", Long: localStatusHelp, Example: localStatusExample}
	return localCommand(app, c, func(ctx context.Context, o localpg.Options, _ []string) error {
		st, err := o.Status()
		if err != nil {
			return err
		}
		if err := app.Print(localShape(), zero(), localStatus{st, false, []string{}}); err != nil {
			return err
		}
		if st.State == localpg.StateRunning {
			return nil
		}
		return notRunning(st.State)
	})
}

func notRunning(state string) error {
	e := todo.Errorf(todo.CodeUnavailable, "the local server is %s", state).With("state", state)
	if state == localpg.StateUnreachable {
		return e.WithHint("todoctl local stop, then todoctl local start")
	}
	return e.WithHint("todoctl local start")
}

func detailsOf(err error) map[string]any {
	var e *todo.Error
	if errors.As(err, &e) {
		return e.Details
	}
	return nil
}
