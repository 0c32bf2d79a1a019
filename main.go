// Command todoctl inspects and drives a durable work queue kept in PostgreSQL.
package main

import (
	"os"

	"github.com/todoctl/todoctl/cmd"
)

//go:generate go run ./docs/gen

// Set by the release build.
var (
	version = "dev"
	commit  = ""
	date    = ""
)

func main() {
	os.Exit(cmd.Main(os.Args[1:], cmd.OSStreams(), os.Environ(), cmd.VersionInfo{Version: version, Commit: commit, Date: date}))
}
