package cmd

import "github.com/spf13/cobra"

func newLocal(app *App) *cobra.Command { return &cobra.Command{Use: "local"} }
