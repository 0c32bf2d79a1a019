//go:build unix

package cmd

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/worker"
)

// guardName is the command that work runs beside itself. Nobody types it.
const guardName = "work-guard"

func newWorkGuard(app *App) *cobra.Command {
	return exitStatus(&cobra.Command{
		Use: guardName, Short: "Kills what a worker that was killed has left", Hidden: true, Args: cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions, Example: "  todoctl " + guardName + " </dev/null",
		RunE: func(*cobra.Command, []string) error {
			worker.Guard(app.Streams.In)
			return nil
		},
	})
}

// guard is how to run this program as the guard of a worker; nil where it cannot be found.
func guard() []string {
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{path, filepath.Base(path), guardName}
}
