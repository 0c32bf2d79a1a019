//go:build !unix

package cmd

import "github.com/spf13/cobra"

// newWork stands where the command is on other systems: process groups are not to be had here.
func newWork(*App) *cobra.Command {
	return exitStatus(&cobra.Command{
		Use: "work", Short: "Not available on this system", Hidden: true, DisableFlagParsing: true, Args: cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			return usagef("work is not available on this system").WithHint("loop over claim and complete instead")
		},
	})
}

func newWorkGuard(*App) *cobra.Command {
	return exitStatus(&cobra.Command{Use: "work-guard", Short: "Not available on this system", Hidden: true, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error { return usagef("work is not available on this system") }})
}

func newShadow(*App) *cobra.Command {
	return exitStatus(&cobra.Command{Use: "test", Short: "Not available on this system", Hidden: true, DisableFlagParsing: true, Args: cobra.ArbitraryArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			return usagef("dead-letters test is not available on this system")
		}})
}
