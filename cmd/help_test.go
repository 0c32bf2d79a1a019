package cmd_test

import (
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/todoctl/todoctl/cmd"
	"github.com/todoctl/todoctl/pkg/todo"
)

// commands lists every command that can be run, the hidden ones apart.
func commands() []*cobra.Command {
	var list []*cobra.Command
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Runnable() && !c.Hidden {
			list = append(list, c)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(cmd.Root())
	return list
}

// TestHelpOfEveryCommand requires the parts of a help page, and what the parser leaves out unless asked:
// a check of the arguments, and a completion that does not fall back to the names of files.
func TestHelpOfEveryCommand(t *testing.T) {
	status := regexp.MustCompile(`\n\nEXIT STATUS\n( +\d+ +[a-z-]+ +\S.*\n?)+$`)
	all := commands()
	if len(all) < 30 {
		t.Fatalf("only %d commands were found", len(all))
	}
	for _, c := range all {
		t.Run(strings.ReplaceAll(c.CommandPath(), " ", "_"), func(t *testing.T) {
			if c.Short == "" || strings.HasSuffix(c.Short, ".") || strings.ToUpper(c.Short[:1]) != c.Short[:1] {
				t.Errorf("Short is not a sentence without its period: %q", c.Short)
			}
			if c.HasParent() && !status.MatchString(c.Long) {
				t.Errorf("Long does not end with the exit codes:\n%s", c.Long)
			}
			if before, _, _ := strings.Cut(c.Long, "EXIT STATUS"); len(strings.TrimSpace(before)) <= len(c.Short) {
				t.Errorf("Long says no more than Short: %q", before)
			}
			lines := strings.Split(c.Example, "\n")
			if len(lines) < 2 {
				t.Errorf("%d examples, want at least two", len(lines))
			}
			for _, line := range lines {
				if !strings.HasPrefix(line, "  ") || !strings.Contains(line, "todoctl ") {
					t.Errorf("an example that is not an indented line of todoctl: %q", line)
				}
			}
			if c.Args == nil {
				t.Error("Args is not set: stray arguments would be taken in silence")
			}
			if c.ValidArgsFunction == nil && c.ValidArgs == nil {
				t.Error("neither ValidArgsFunction nor ValidArgs is set: files would be completed")
			}
			if c.HasParent() && !c.Parent().HasParent() && c.GroupID == "" {
				t.Error("in no group of the help")
			}
		})
	}
}

// TestHelpOfEveryFlag requires that no flag hides one of a command above, that a letter means the same
// everywhere, and that values which are known can be completed.
func TestHelpOfEveryFlag(t *testing.T) {
	letters := map[string]string{}
	for _, c := range commands() {
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			for p := c.Parent(); p != nil; p = p.Parent() {
				if above := p.PersistentFlags().Lookup(f.Name); above != nil && above != f {
					t.Errorf("%s: --%s hides the one of %s", c.CommandPath(), f.Name, p.CommandPath())
				}
			}
		})
		c.InheritedFlags() // adds those of the commands above to c.Flags
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if was := letters[f.Shorthand]; f.Shorthand != "" && was != "" && was != f.Name {
				t.Errorf("%s: -%s is --%s, elsewhere it is --%s", c.CommandPath(), f.Shorthand, f.Name, was)
			}
			letters[f.Shorthand] = f.Name
			if f.Usage == "" || strings.HasSuffix(f.Usage, ".") {
				t.Errorf("%s: --%s is described as %q", c.CommandPath(), f.Name, f.Usage)
			}
			switch f.Name {
			case "queue", "state", "output", "color":
				if _, ok := c.GetFlagCompletionFunc(f.Name); !ok {
					t.Errorf("%s: --%s cannot be completed", c.CommandPath(), f.Name)
				}
			}
		})
	}
	if letters["q"] != "queue" || letters["n"] != "limit" || letters["o"] != "output" {
		t.Errorf("letters: %v", letters)
	}
}

// TestRefusedCommandLines gives every command a flag that it does not have and, where it limits them, too
// many arguments: a usage error with a hint, before anything is asked.
func TestRefusedCommandLines(t *testing.T) {
	refused := func(c *cobra.Command, more ...string) {
		t.Helper()
		root := cmd.Root()
		root.SetOut(writerOf(func(b []byte) { t.Errorf("%s %q printed %q", c.CommandPath(), more, b) }))
		root.SetErr(io.Discard)
		args := append(strings.Fields(c.CommandPath())[1:], more...)
		root.SetArgs(args)
		err := root.Execute()
		var e *todo.Error
		if !errors.As(err, &e) || e.Code != todo.CodeUsage || e.Hint == "" || strings.Contains(e.Message, "\n") {
			t.Errorf("%q: %v (%#v), want a usage error of one line with a hint", args, err, err)
		}
	}
	strays := []string{"stray", "astray", "more", "and more"}
	for _, c := range commands() {
		refused(c, "--bogus")
		refused(c, "-?")
		refused(c, "--output")
		if c.Args(c, strays) != nil {
			refused(c, strays...)
		}
		if c.Args(c, nil) != nil {
			refused(c)
		}
		if c.HasSubCommands() {
			refused(c, "bogus")
		}
	}
}

type writerOf func([]byte)

func (w writerOf) Write(b []byte) (int, error) { w(b); return len(b), nil }

// TestDidYouMean shows what a person who mistypes is told: exit 2, nothing on stdout, and the word that
// was probably meant.
func TestDidYouMean(t *testing.T) {
	t.Parallel()
	c := bare(t)
	for line, want := range map[string]string{
		"clam":                      "did you mean todoctl claim?",
		"clam --help":               "did you mean todoctl claim?",
		"help clam":                 "did you mean todoctl help claim?",
		"help exit-code":            "did you mean todoctl help exit-codes?",
		"help dead-letters prge":    "did you mean todoctl help dead-letters purge?",
		"help bogus":                "todoctl --help lists commands and topics",
		"dead-letters bogus":        "todoctl dead-letters --help lists the commands",
		"dead-letters bogus --help": "todoctl dead-letters --help lists the commands",
		"dead-letters prge":         "did you mean todoctl dead-letters purge?",
		"dead-letters retry":        "todoctl retry ID..., or todoctl retry with filters",
		"dead-letters retry --all":  "todoctl retry ID..., or todoctl retry with filters",
		"migrate upp":               "did you mean todoctl migrate up?",
		"local strat":               "did you mean todoctl local start?",
		"claim --onwer x":           "did you mean --owner?",
		"retry --dryrun":            "did you mean --dry-run?",
		"list mail":                 "did you mean -q mail?",
		"reap mail":                 "did you mean -q mail?",
		"completion bsh":            "did you mean bash?",
		"completion":                "usage: todoctl completion bash|zsh|fish|powershell",
		"list --state deed":         "did you mean dead?",
		"list -o jsn":               "did you mean json?",
		"config tl":                 "did you mean ttl?",
		"show":                      "usage: todoctl show ID",
		"claim a b":                 "usage: todoctl claim [ID]",
		"heartbeat":                 "usage: todoctl heartbeat ID...",
		"migrate":                   "todoctl migrate up, down, status, sql or wait",
		"local":                     "todoctl local",
		"":                          "todoctl --help lists the commands",
	} {
		r := c.run(strings.Fields(line)...)
		if r.code != 2 || r.out != "" || !strings.Contains(r.err, want) || strings.Count(r.err, "\n") > 2 {
			t.Errorf("todoctl %s: exit %d, stdout %q, stderr %q; want %q", line, r.code, r.out, r.err, want)
		}
	}
	r := c.fails(2, "clam", "-o", "json")
	if e := decode[struct{ Error struct{ Code, Hint string } }](t, r.err).Error; e.Code != "usage" || e.Hint != "did you mean todoctl claim?" {
		t.Errorf("as JSON: %s", r.err)
	}
	if got := c.ok("help", "claim"); got != c.ok("claim", "--help") || !strings.Contains(got, "EXIT STATUS") {
		t.Errorf("help claim is not claim --help:\n%s", got)
	}
}
