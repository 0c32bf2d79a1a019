package cmd

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/todo"
)

// explainArguments makes every command below c say which of its arguments it cannot take, and what
// was probably meant. The checks themselves stay what each command says they are.
func explainArguments(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			if _, told := err.(*todo.Error); err == nil || told {
				return err
			}
			return argumentFault(c, check, args)
		}
	}
	for _, sub := range c.Commands() {
		explainArguments(sub)
	}
}

func argumentFault(c *cobra.Command, check cobra.PositionalArgs, args []string) error {
	usage := "usage: " + strings.TrimSuffix(c.UseLine(), " [flags]")
	if len(args) == 0 {
		return usagef("%s needs %s", verb(c), placeholder(c)).WithHint("%s", usage)
	}
	bad := args[0] // the first that is too many, or wrong
	for i := range args {
		if check(c, args[:i]) == nil {
			bad = args[i]
		}
	}
	if c.HasSubCommands() {
		return unknownCommand(c, bad)
	}
	if words := c.ValidArgs; len(words) > 0 && !slices.Contains(words, bad) {
		e := usagef("%q is not one of %s", bad, strings.Join(words, ", "))
		if near := todo.Nearest(bad, words); near != "" {
			return e.WithHint("did you mean %s?", near)
		}
		return e.WithHint("%s", usage)
	}
	e := usagef("%s does not take the argument %q", verb(c), bad)
	if f := c.Flags().Lookup("queue"); f != nil && f.Shorthand == "q" && placeholder(c) == "" && todo.CheckQueue(bad) == nil {
		return e.WithHint("did you mean -q %s?", bad)
	}
	return e.WithHint("%s", usage)
}

// verb is the name of a command as it is typed after todoctl.
func verb(c *cobra.Command) string { return strings.TrimPrefix(c.CommandPath(), "todoctl ") }

// placeholder is what follows the name of a command in its usage line.
func placeholder(c *cobra.Command) string {
	_, rest, _ := strings.Cut(c.Use, " ")
	return strings.TrimPrefix(rest, "[flags] ")
}

// refuseHelp makes --help of a command that does not exist an error, where the parser shows the help
// of the command above it and calls that a success.
func refuseHelp(app *App, root *cobra.Command) {
	show := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c.HasSubCommands() && c.Flags().NArg() > 0 {
			app.fault = unknownCommand(c, c.Flags().Arg(0))
			return
		}
		finishHelp(c)
		show(c, args)
	})
}

// unknownCommand names the command that was probably meant.
func unknownCommand(c *cobra.Command, word string) error {
	e := usagef("unknown command %q for %q", word, c.CommandPath())
	if near := nearestCommand(c, word); near != "" {
		return e.WithHint("did you mean %s %s?", c.CommandPath(), near)
	}
	return e.WithHint("%s --help lists the commands", c.CommandPath())
}

func nearestCommand(c *cobra.Command, word string) string {
	var known []string
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			known = append(known, sub.Name())
		}
	}
	return todo.Nearest(word, known)
}

const helpHelp = `Show the help of a command, or a topic: exit-codes, environment, output, worker.`

const helpExample = `  todoctl help claim
  todoctl help exit-codes`

// newHelp replaces the parser's own help command, which takes a misspelt topic for success.
func newHelp(app *App) *cobra.Command {
	c := &cobra.Command{
		Use: "help [COMMAND|TOPIC]", Short: "Show the help of a command, or a topic", Long: helpHelp, Example: helpExample,
		GroupID: groupDatabase, Args: cobra.ArbitraryArgs, ValidArgsFunction: completePages,
		RunE: func(c *cobra.Command, args []string) error {
			page := c.Root()
			for _, word := range args {
				next := subcommand(page, word)
				if next == nil {
					e := usagef("no help for %q", strings.Join(args, " "))
					if near := nearestCommand(page, word); near != "" {
						return e.WithHint("did you mean todoctl help %s?", strings.TrimPrefix(page.CommandPath()+" "+near, "todoctl "))
					}
					return e.WithHint("todoctl --help lists commands and topics")
				}
				page = next
			}
			page.InitDefaultHelpFlag()
			page.InitDefaultVersionFlag()
			return page.Help()
		},
	}
	return exitStatus(c)
}

// subcommand returns the command of this name below c, or nil.
func subcommand(c *cobra.Command, name string) *cobra.Command {
	for _, sub := range c.Commands() {
		if sub.Name() == name {
			return sub
		}
	}
	return nil
}

func completePages(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	page := c.Root()
	for _, word := range args {
		if page = subcommand(page, word); page == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
	var out []cobra.Completion
	for _, sub := range page.Commands() {
		if !sub.Hidden {
			out = append(out, cobra.CompletionWithDesc(sub.Name(), sub.Short))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeFiles leaves the arguments to the shell: they are another program's.
func completeFiles(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}
