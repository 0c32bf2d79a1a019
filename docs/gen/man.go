package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manDate stands for the text, not for the day of the build.
const manDate = "December 2026"

// manual writes one man page for each command. cobra's own writer is not used: it sends the help
// through markdown, which swallows <, * and _, and joins the lines of what help sets in columns.
func manual(tree *cobra.Command, files map[string][]byte) error {
	return walk(tree, func(c *cobra.Command) error {
		var b bytes.Buffer
		name := dashed(c)
		fmt.Fprintf(&b, ".TH %s 1 %q todoctl %q\n", strings.ToUpper(roff(name)), manDate, "todoctl manual")
		fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.nh\n\\fB%s\\fR\n.hy\n", roff(name), roff(c.Short), roff(c.UseLine()))
		long := c.Long
		if long == "" {
			long = c.Short
		}
		b.WriteString(".SH DESCRIPTION\n")
		manText(&b, long)
		manFlags(&b, "OPTIONS", c.NonInheritedFlags())
		manFlags(&b, "GLOBAL OPTIONS", c.InheritedFlags())
		if c.Example != "" {
			fmt.Fprintf(&b, ".SH EXAMPLES\n.EX\n%s\n.EE\n", roff(dedent(c.Example)))
		}
		b.WriteString(".SH SEE ALSO\n" + strings.Join(manLinks(c), ",\n") + "\n")
		files["docs/man/"+name+".1"] = b.Bytes()
		return nil
	})
}

func dashed(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

func manLinks(c *cobra.Command) []string {
	var links []string
	link := func(c *cobra.Command) {
		links = append(links, fmt.Sprintf("\\fB%s\\fR(1)", roff(dashed(c))))
	}
	if c.HasParent() {
		link(c.Parent())
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
			link(sub)
		}
	}
	return links
}

// manText writes help text: a line in capitals is a heading, what is indented keeps its lines and
// columns, an exit code with its meaning is a tagged paragraph, and the rest is filled.
func manText(b *bytes.Buffer, text string) {
	heading := regexp.MustCompile(`^[A-Z][A-Z ]+:?$`)
	status := regexp.MustCompile(`^  (\d+) +(\S+) +(.*)$`)
	verbatim, blank := false, false
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		if line == "" {
			blank = true
			continue
		}
		m := status.FindStringSubmatch(line)
		if verbatim && (!indented || m != nil) {
			b.WriteString(".EE\n")
		}
		if m != nil {
			fmt.Fprintf(b, ".TP\n\\fB%s\\fR %s\n%s\n", m[1], roff(m[2]), roff(m[3]))
			verbatim, blank = false, false
			continue
		}
		switch {
		case heading.MatchString(line):
			fmt.Fprintf(b, ".SH %s\n", roff(strings.TrimSuffix(line, ":")))
			verbatim, blank = false, false
			continue
		case verbatim && indented && blank:
			b.WriteString("\n")
		case blank:
			b.WriteString(".PP\n")
		}
		if indented && !verbatim {
			b.WriteString(".EX\n")
		}
		b.WriteString(roff(line) + "\n")
		verbatim, blank = indented, false
	}
	if verbatim {
		b.WriteString(".EE\n")
	}
}

func manFlags(b *bytes.Buffer, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Deprecated != "" {
			return
		}
		kind, usage := pflag.UnquoteUsage(f)
		b.WriteString(".TP\n")
		if f.Shorthand != "" {
			fmt.Fprintf(b, "\\fB\\-%s\\fR, ", f.Shorthand)
		}
		fmt.Fprintf(b, "\\fB\\-\\-%s\\fR", roff(f.Name))
		if kind != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", roff(kind))
		}
		b.WriteString("\n" + roff(usage))
		switch f.DefValue {
		case "", "false", "[]", "0", "0s":
		default:
			fmt.Fprintf(b, " (default %s)", roff(f.DefValue))
		}
		b.WriteString("\n")
	})
}

// roff escapes text, several lines of it too, so that troff prints it as it is.
func roff(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		line = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(line)
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			line = `\&` + line
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}
