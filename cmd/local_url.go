package cmd

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/localpg"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const localURLHelp = `Print the connection URL of the local server, which runs. psql, pg_dump and every driver that knows sockets
read it.`

const localURLExample = `  todoctl local url
  pg_dump "$(todoctl local url)" >backup.sql`

func newLocalURL(app *App) *cobra.Command {
	shape := render.Shape{Fields: []string{"url"}, TSV: []string{"url"}, ID: "url"}
	c := &cobra.Command{Use: "url", Short: "Print the URL of the local server", Long: localURLHelp, Example: localURLExample}
	return localCommand(app, c, func(ctx context.Context, o localpg.Options, _ []string) error {
		if err := app.Check(shape); err != nil {
			return err
		}
		s, err := localpg.Attach(ctx, o)
		if err != nil {
			return err
		}
		url := s.URL(localpg.Database)
		if !app.Config.Value("output").IsSet() && app.Flags.JQ == "" {
			return app.line(url) // plain on a terminal too, where it gets copied
		}
		return app.Print(shape, zero(), map[string]any{"url": url})
	})
}

const localEnvHelp = `Print the shell line that makes every command of this shell use the local server. When the server does not
run it prints (exit 8), so that eval fails and the shell's database stays what it was.`

const localEnvExample = `  eval "$(todoctl local env)"
  todoctl local start && eval "$(todoctl local env)"`

func newLocalEnv(app *App) *cobra.Command {
	c := &cobra.Command{Use: "env", Short: "Print the shell line that selects the local server", Long: localEnvHelp, Example: localEnvExample}
	return localCommand(app, c, func(ctx context.Context, o localpg.Options, _ []string) error {
		s, err := localpg.Attach(ctx, o)
		if err != nil {
			if lost := app.line(fmt.Sprintf("(exit %d)", exitCode(err))); lost != nil {
				return lost
			}
			return err
		}
		text := "export TODOCTL_DATABASE_URL='" + strings.ReplaceAll(s.URL(localpg.Database), "'", `'\''`) + "'"
		if app.Getenv("TODOCTL_DATABASE_URL_FILE") != "" {
			text += "\nunset TODOCTL_DATABASE_URL_FILE" // both at once name the database twice
		}
		return app.line(text)
	})
}

// line writes a line of the answer that has but one form.
func (a *App) line(text string) error {
	if _, err := io.WriteString(a.Streams.Out, text+"\n"); err != nil {
		e := todo.Errorf(todo.CodeInternal, "write output: %v", err)
		e.Err = err
		return e
	}
	return nil
}

const localPsqlHelp = `Become psql on the local server. What follows -- goes to psql.`

const localPsqlExample = `  todoctl local psql
  todoctl local psql -- -c 'select count(*) from todos'`

func newLocalPsql(app *App) *cobra.Command {
	c := &cobra.Command{
		Use: "psql [-- ARG...]", Short: "Open psql on the local server", Long: localPsqlHelp + "\nThe exit status is psql's own once it has started.",
		Example: localPsqlExample, Args: cobra.ArbitraryArgs,
	}
	return localCommand(app, c, func(ctx context.Context, o localpg.Options, args []string) error {
		s, err := localpg.Attach(ctx, o)
		if err != nil {
			return err
		}
		schema, err := app.localSchema()
		if err != nil {
			return err
		}
		path, err := app.findPsql(ctx, o)
		if err != nil {
			return err
		}
		argv := append([]string{"psql", s.URL(localpg.Database)}, args...)
		return become(path, argv, psqlEnv(app.Env, schema))
	})
}

// findPsql prefers the psql of the server's own version.
func (a *App) findPsql(ctx context.Context, o localpg.Options) (string, error) {
	var dirs []string
	if bin, err := localpg.Find(ctx, o); err == nil {
		dirs = append(dirs, bin.Dir)
	}
	for _, dir := range append(dirs, filepath.SplitList(a.Getenv("PATH"))...) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(dir, "psql")); err == nil {
			return path, nil
		}
	}
	return "", todo.Errorf(todo.CodeUnavailable, "psql is not installed").
		WithHint("install the PostgreSQL client, or give another one the URL: todoctl local url")
}

// psqlEnv returns the environment for psql: without the variables that would lead elsewhere in spite
// of the URL, or that fail by themselves (a service that is not in the file), and in our schema.
func psqlEnv(env []string, schema string) []string {
	keep := map[string]bool{"PGCLIENTENCODING": true, "PGDATESTYLE": true, "PGTZ": true}
	var out []string
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); !strings.HasPrefix(name, "PG") || keep[name] {
			out = append(out, kv)
		}
	}
	if schema != "" {
		path := strings.NewReplacer(`\`, `\\`, " ", `\ `).Replace(pgx.Identifier{schema}.Sanitize())
		out = append(out, "PGOPTIONS=-c search_path="+path)
	}
	return out
}
