package cmd

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/config"
	"github.com/todoctl/todoctl/pkg/migrate"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

// VersionInfo is what the build says of itself.
type VersionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"`
	Date    string `json:"date"`
	Go      string `json:"go"`
	Schema  string `json:"schema"` // the newest migration that this release carries
}

func (v VersionInfo) filled() VersionInfo {
	v.Go, v.Schema = runtime.Version(), migrate.Latest()
	return v
}

func (v VersionInfo) line() string {
	v = v.filled()
	s := "todoctl " + v.Version
	if v.Commit != "" {
		s += " (" + v.Commit + " " + v.Date + ")"
	}
	return s + " " + v.Go + " schema " + v.Schema
}

// versionFlag adds --version. The one that cobra makes is printed by text/template, which finds methods by their name: as soon as
// a program does that, the linker must keep every method of every type in it.
func versionFlag(root *cobra.Command) {
	root.Flags().BoolP("version", "v", false, "version for "+root.Name())
}

func asksVersion(c *cobra.Command) bool {
	f := c.Flags().Lookup("version")
	return !c.HasParent() && f != nil && f.Value.String() == "true"
}

func (a *App) writeVersion() error {
	if _, err := fmt.Fprintln(a.Streams.Out, a.Version.line()); err != nil {
		return todo.Errorf(todo.CodeInternal, "write output: %v", err)
	}
	return nil
}

func newVersion(app *App) *cobra.Command {
	c := &cobra.Command{
		Use: "version", Short: "Print version, commit, Go and schema", Args: cobra.NoArgs, GroupID: groupDatabase,
		Long: "Print the version of this binary, the Go that built it, and the newest schema that it knows.",
		Example: `  todoctl version
  todoctl version --jq .schema`,
		ValidArgsFunction: cobra.NoFileCompletions,
		// What runs here must be told also where the settings are what is wrong.
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			app.running = true
			if err := app.load(c); err != nil && app.Config == nil {
				app.Config, err = config.Load(config.Input{Flags: flagsOf(c)})
				return err
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			return app.Print(render.Shape{Fields: render.FieldsOf(VersionInfo{}), ID: "version"}, zero(), app.Version.filled())
		},
	}
	return exitStatus(c)
}
