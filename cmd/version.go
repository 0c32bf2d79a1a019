package cmd

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/config"
	"github.com/todoctl/todoctl/pkg/migrate"
	"github.com/todoctl/todoctl/pkg/render"
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
