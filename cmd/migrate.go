package cmd

import "github.com/spf13/cobra"

func newMigrate(app *App) *cobra.Command { return &cobra.Command{Use: "migrate"} }
