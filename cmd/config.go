package cmd

import "github.com/spf13/cobra"

func newConfig(app *App) *cobra.Command { return &cobra.Command{Use: "config"} }
