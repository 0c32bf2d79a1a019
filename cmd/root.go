package cmd

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/todo"
)

// Groups of commands in the help.
const (
	groupWork     = "work"
	groupOperate  = "operate"
	groupInspect  = "inspect"
	groupDatabase = "database"
)

const rootHelp = `todoctl drives a durable work queue kept in PostgreSQL: todos are enqueued once, claimed by one
worker at a time under a lease, and completed, failed or given back. At-least-once, never lost.

Answers go to stdout, all else to stderr; the exit status says how it ended (todoctl help exit-codes).`

const rootExample = `  todoctl enqueue -q mail --key signup-42 '{"to":"ada@example.test"}'
  todoctl claim -q mail --ttl 5m
  todoctl dead-letters -q mail`

// Root returns the command tree without a process around it, for the generator of the docs.
func Root() *cobra.Command {
	root := newRoot(&App{}, nil)
	finishHelp(root)
	return root
}

// newRoot lists every command in the order of the help, or holds the one alone that the arguments begin with.
func newRoot(app *App, args []string) *cobra.Command {
	root := &cobra.Command{
		Use: "todoctl", Short: "Inspect and drive a durable work queue in PostgreSQL", Long: rootHelp, Example: rootExample,
		SilenceErrors: true, SilenceUsage: true, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			if asksVersion(c) {
				return app.writeVersion()
			}
			return usagef("no command").WithHint("todoctl --help lists the commands")
		},
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			app.running = true
			if asksVersion(c) {
				return nil
			}
			switch c.Name() {
			case cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd:
				return nil // a completion reads the settings of the command that it completes, in silence
			case "help":
				return nil // help must come also where the settings are what is wrong
			}
			// The parser would look at these only after this function, and the error would pass for ours.
			if err := c.ValidateFlagGroups(); err != nil {
				return groupFault(c, err)
			}
			if f := c.Flags().Lookup("jq"); f.Changed && app.Flags.JQ == "" {
				return usagef("--jq: the filter is empty")
			}
			return app.load(c)
		},
	}
	versionFlag(root)
	root.SetOut(app.Streams.Out)
	root.SetErr(app.Streams.Err)
	root.SetIn(app.Streams.In)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(flagFault)
	app.globalFlags(root)
	root.AddGroup(
		&cobra.Group{ID: groupWork, Title: "Work:"},
		&cobra.Group{ID: groupOperate, Title: "Operate:"},
		&cobra.Group{ID: groupInspect, Title: "Inspect:"},
		&cobra.Group{ID: groupDatabase, Title: "Database and settings:"})
	if c := single(app, args); c != nil {
		root.AddCommand(c)
	} else {
		root.AddCommand(commands(app)...)
		root.AddCommand(topics()...)
	}
	root.SetHelpCommand(newHelp(app))
	app.replicaFlag(root)
	explainArguments(root)
	refuseHelp(app, root)
	return root
}

func commands(app *App) []*cobra.Command {
	return []*cobra.Command{
		newEnqueue(app), newClaim(app), newHeartbeat(app), newComplete(app), newFail(app), newRelease(app), newWait(app), newWork(app), newWorkGuard(app),
		newReap(app), newRetry(app), newBury(app), newBump(app), newPause(app), newResume(app), newPrune(app), newUndo(app), newExport(app), newImport(app),
		newList(app), newShow(app), newQueues(app), newDeadLetters(app), newDoctor(app), newCheck(app), newLeases(app),
		newWhy(app), newCrashes(app), newOwners(app), newJournal(app),
		newTail(app), newTop(app),
		newMigrate(app), newLocal(app), newConfig(app), newCompletion(app), newVersion(app),
	}
}

// single makes only the command that the arguments begin with, where scripts run it over and over: to make all of
// them takes a tenth of the time of a claim.
func single(app *App, args []string) *cobra.Command {
	if len(args) == 0 {
		return nil
	}
	switch args[0] {
	case "enqueue":
		return newEnqueue(app)
	case "claim":
		return newClaim(app)
	case "heartbeat":
		return newHeartbeat(app)
	case "complete":
		return newComplete(app)
	case "fail":
		return newFail(app)
	case "release":
		return newRelease(app)
	case "show":
		return newShow(app)
	}
	return nil
}

// globalFlags adds the flags that every command has.
func (a *App) globalFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.String("database-url", "", "database, as a URL or in keyword form; a password here shows in ps")
	f.String("database-url-file", "", "file whose one line is the database URL")
	f.String("schema", "", "schema of the tables, where it is not the server's search_path")
	f.String("config", "", "config file")
	f.String("profile", "", "profile of the config file that names the database")
	f.StringP("output", "o", "", "table, wide, json, jsonl, csv, tsv, id, receipt or env")
	f.StringSliceVar(&a.Flags.Fields, "fields", nil, "fields to print, in this order")
	f.StringVar(&a.Flags.JQ, "jq", "", "jq filter over the JSON answer; strings come out raw")
	f.String("color", "auto", "auto, always or never")
	f.BoolVar(&a.Flags.Quiet, "quiet", false, "no notes, warnings or progress, and no answer from verbs that only report what they changed")
	f.BoolVar(&a.Flags.Yes, "yes", false, "do not ask")
	f.String("timeout", "", "give up after this long, counted from the start")
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = root.RegisterFlagCompletionFunc("color", cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp))
	for _, name := range []string{"schema", "profile", "fields", "jq", "timeout", "database-url"} {
		_ = root.RegisterFlagCompletionFunc(name, cobra.NoFileCompletions)
	}
}

// groupFault explains flags that do not go together.
func groupFault(c *cobra.Command, err error) error {
	e := usagef("%v", err)
	if text, ok := strings.CutSuffix(err.Error(), "] were all set"); ok {
		names := strings.Fields(text[strings.LastIndex(text, "[")+1:])
		e = usagef("--%s exclude each other", strings.Join(names, " and --"))
	}
	return e.WithHint("%s --help shows how they are used", c.CommandPath())
}

// flagFault explains a flag that could not be read.
func flagFault(c *cobra.Command, err error) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "unknown flag: --"); ok {
		var known []string
		c.Flags().VisitAll(func(f *flag) { known = append(known, f.Name) })
		e := usagef("unknown flag --%s", name)
		if near := todo.Nearest(name, known); near != "" {
			return e.WithHint("did you mean --%s? %s --help lists the flags", near, c.CommandPath())
		}
		return e.WithHint("%s --help lists the flags", c.CommandPath())
	}
	// An own flag value explains itself; what the parser puts around it only repeats the flag.
	if i := strings.Index(text, `" flag: `); i >= 0 && strings.HasPrefix(text, "invalid argument ") {
		value := strings.TrimPrefix(text[:strings.Index(text, " for ")], "invalid argument ")
		names := text[strings.Index(text, ` for "`)+6 : i]
		return usagef("%s: %s", names, flagReason(text[i+8:], value))
	}
	return usagef("%s", text).WithHint("%s --help shows how it is used", c.CommandPath())
}

// flagReason says what is wrong with the quoted value of a flag. The parser's words for its own kinds
// of flags name functions of Go.
func flagReason(reason, value string) string {
	switch {
	case strings.HasPrefix(reason, "strconv.ParseInt:"), strings.HasPrefix(reason, "strconv.Atoi:"):
		return value + " is not a whole number, or too large a one"
	case strings.HasPrefix(reason, "strconv.ParseBool:"):
		return value + " is neither true nor false"
	case strings.Contains(reason, value):
		return reason
	}
	return reason + " (given " + value + ")"
}
