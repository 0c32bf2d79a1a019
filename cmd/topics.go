package cmd

import "github.com/spf13/cobra"

func topics(app *App) []*cobra.Command { return nil }
