package cmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/migrate"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const migrateHelp = `Make the tables of todoctl in a database, bring them to the version of this binary, or take them away
again. The versions are recorded in the table todoctl_migrations, in the schema that --schema or the
server's search_path names. No other command migrates, but for "local start".

A release works on its own schema and on those of the releases before and after it, so migrate first and
replace the binaries one by one.`

const migrateExample = `  todoctl migrate up
  todoctl migrate status -o json`

func newMigrate(app *App) *cobra.Command {
	c := &cobra.Command{
		Use: "migrate", Short: "Create, upgrade or remove the tables", Long: migrateHelp, Example: migrateExample,
		GroupID: groupDatabase, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			return usagef("migrate needs a verb").WithHint("todoctl migrate up, down, status, sql or wait")
		},
	}
	c.AddCommand(newMigrateUp(app), newMigrateDown(app), newMigrateStatus(app), newMigrateSQL(app), newMigrateWait(app))
	return exitStatus(c)
}

// migrator returns a Migrator of the database that the settings name, and who and where that is.
func (a *App) migrator() (m *migrate.Migrator, identity string, err error) {
	o, err := a.ConnOptions("migrate")
	if err != nil {
		return nil, "", err
	}
	cfg, err := dbconn.ParseConfig(o)
	if err != nil {
		return nil, "", err
	}
	for _, w := range dbconn.Warnings(o) {
		a.Warn("%s", w)
	}
	return migrate.New(cfg, o.Schema, func(s string) { a.Note("%s", s) }), dbconn.Identity(cfg), nil
}

// migrated is what up and down answer.
type migrated struct {
	migrate.Result
	DryRun bool `json:"dry_run"`
}

func migratedShape() render.Shape {
	return render.Shape{
		Fields: []string{"schema", "version", "applied", "undone", "rebuilt", "dry_run"},
		Table:  []string{"schema", "version", "applied", "undone", "rebuilt"},
		TSV:    []string{"version", "schema", "applied", "undone", "rebuilt"},
		ID:     "version",
	}
}

const migrateUpHelp = `Apply what is pending, one migration after the other, each whole or not at all. When nothing is
pending nothing happens, so this may run at every deployment, and any number at once: one works, the
others wait for it. --timeout bounds the waiting, and the error names who holds the lock.

A --schema that does not exist is made. Beside tables of the same names that are not todoctl's, and in a
schema that a newer release has made, nothing is changed. An index that a broken-off build left invalid is
built again, without holding up writers.

Use a direct connection: through a pooler in transaction mode an interrupted index build cannot be
cancelled, and statement_timeout of the role stays in force.`

const migrateUpExample = `  todoctl migrate up
  todoctl migrate up --schema todoctl --timeout 5m`

func newMigrateUp(app *App) *cobra.Command {
	var dryRun bool
	c := &cobra.Command{
		Use: "up", Short: "Apply pending migrations", Long: migrateUpHelp, Example: migrateUpExample,
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := app.Check(migratedShape()); err != nil {
				return err
			}
			m, _, err := app.migrator()
			if err != nil {
				return err
			}
			if dryRun {
				return app.planUp(c.Context(), m)
			}
			r, err := m.Up(c.Context())
			if err != nil {
				return err
			}
			return app.Report(migratedShape(), migrated{Result: r})
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be applied, and change nothing")
	return exitStatus(c, database(todo.CodeUnknown)...)
}

// planUp says what up would do.
func (a *App) planUp(ctx context.Context, m *migrate.Migrator) error {
	st, err := m.Status(ctx)
	if err != nil {
		return err
	}
	if err := st.Refused(); err != nil {
		return err
	}
	return a.Report(migratedShape(), migrated{DryRun: true, Result: migrate.Result{Schema: st.Schema, Version: st.Latest,
		Applied: st.Pending, Undone: []string{}, Rebuilt: st.InvalidIndexes}})
}

const migrateDownHelp = `Undo the newest migration, or with --all every one, the table of versions, and the schema where todoctl
made it and nothing else is in it. Tables go with all rows in them. It asks first.`

const migrateDownExample = `  todoctl migrate down --dry-run
  todoctl migrate down --all --yes`

func newMigrateDown(app *App) *cobra.Command {
	var dryRun, all bool
	c := &cobra.Command{
		Use: "down", Short: "Undo the newest migration, or all", Long: migrateDownHelp, Example: migrateDownExample,
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := app.Check(migratedShape()); err != nil {
				return err
			}
			m, identity, err := app.migrator()
			if err != nil {
				return err
			}
			if err := app.target("migrate down"); err != nil {
				return err
			}
			return app.down(c.Context(), m, identity, all, dryRun)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "undo every migration, and remove all that todoctl made")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be undone, and change nothing")
	return exitStatus(c, database(todo.CodeUnknown)...)
}

func (a *App) down(ctx context.Context, m *migrate.Migrator, identity string, all, dryRun bool) error {
	st, err := m.Status(ctx)
	if err != nil {
		return err
	}
	if len(st.Unknown) > 0 {
		return st.Refused()
	}
	plan := st.Down(all)
	if dryRun {
		return a.Report(migratedShape(), migrated{Result: plan, DryRun: true})
	}
	if len(plan.Undone) > 0 {
		question := "undo " + strings.Join(plan.Undone, ", ") + " in schema " + st.Schema + " of " + identity + ", with every row in its tables?"
		if err := a.Confirm(ctx, question); err != nil {
			return err
		}
	}
	r, err := m.Down(ctx, all)
	if err != nil {
		return err
	}
	return a.Report(migratedShape(), migrated{Result: r})
}

const migrateStatusHelp = `Say which migrations are applied and which are pending. Exit 0 means that the schema is this binary's and
whole; 10, with the reason on stderr, that migrations are pending, that a newer release has been here, that
an index is invalid, or that tables of the same names are not todoctl's.`

const migrateStatusExample = `  todoctl migrate status
  todoctl migrate status --jq '.pending | length'`

func newMigrateStatus(app *App) *cobra.Command {
	c := &cobra.Command{
		Use: "status", Short: "Say what is applied and what is pending", Long: migrateStatusHelp, Example: migrateStatusExample,
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			shape := render.Shape{
				Fields: render.FieldsOf(migrate.Status{}),
				TSV:    []string{"version", "schema", "current", "latest", "pending"},
				ID:     "version",
			}
			if err := app.Check(shape); err != nil {
				return err
			}
			m, _, err := app.migrator()
			if err != nil {
				return err
			}
			st, err := m.Status(c.Context())
			if err != nil {
				return err
			}
			if err := app.Print(shape, zero(), st); err != nil {
				return err
			}
			return st.Err()
		},
	}
	return exitStatus(c, database()...)
}

const migrateSQLHelp = `Print the migrations as one script for psql, for a database whose schema only a DBA may change. It needs
no database. The script records the versions, so that "migrate up" finds nothing left to do, and skips what
is applied, so that it also upgrades.`

const migrateSQLExample = `  todoctl migrate sql > todoctl.sql
  todoctl migrate sql --schema todoctl`

func newMigrateSQL(app *App) *cobra.Command {
	c := &cobra.Command{
		Use: "sql", Short: "Print the migrations as a script for psql", Long: migrateSQLHelp, Example: migrateSQLExample,
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			schema, err := app.localSchema()
			if err != nil {
				return err
			}
			if d, err := app.Config.Database(); err == nil { // a profile may name the schema
				schema = d.Schema
			}
			var script strings.Builder
			if err := migrate.SQL(&script, schema); err != nil {
				return err
			}
			return app.line(strings.TrimSuffix(script.String(), "\n"))
		},
	}
	return exitStatus(c)
}

const migrateWaitHelp = `Wait until the server answers and its schema is the one of this binary, and print nothing: for a container
that must not start before the database is migrated. --timeout bounds it; there is no limit otherwise.`

const migrateWaitExample = `  todoctl migrate wait --timeout 1m
  todoctl migrate wait --timeout 60s && echo ready`

func newMigrateWait(app *App) *cobra.Command {
	c := &cobra.Command{
		Use: "wait", Short: "Wait for the database and its schema", Long: migrateWaitHelp, Example: migrateWaitExample,
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			m, _, err := app.migrator()
			if err != nil {
				return err
			}
			return m.Wait(c.Context())
		},
	}
	return exitStatus(c, todo.CodeTimeout, todo.CodeInterrupted)
}
