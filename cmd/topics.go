package cmd

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/config"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

// topics are the pages of `todoctl help TOPIC`. What they say comes from finishHelp.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "What the exit status of a command means"},
		{Use: "environment", Short: "Variables, config file, and which database is meant"},
		{Use: "output", Short: "Output forms, fields, and what scripts can rely on"},
		{Use: "worker", Short: "How a shell script works off a queue"},
	}
}

// topicText returns the text of a topic, "" for any other command. What it lists comes out of the tables
// that the program itself works by, so that neither can say something else.
func topicText(name string) string {
	switch name {
	case "exit-codes":
		return exitCodesTopic()
	case "environment":
		return environmentTopic()
	case "output":
		return outputTopic()
	case "worker":
		return workerTopic()
	}
	return ""
}

// finishHelp makes those parts of the help of a command and of those below it that are made of tables. It is not
// done for a command that is only run: it would be a good part of the time that a short one takes.
func finishHelp(c *cobra.Command) {
	if codes, ok := c.Annotations[exitCodesOf]; ok {
		c.Long = strings.TrimSpace(c.Long) + "\n\n" + exitStatusText(strings.Split(codes, ","))
		delete(c.Annotations, exitCodesOf)
	}
	if text := topicText(c.Name()); text != "" && c.Long == "" {
		c.Long = prose(text)
	}
	for _, sub := range c.Commands() {
		finishHelp(sub)
	}
}

func exitCodesTopic() string {
	var rows [][]string
	for _, e := range ExitCodes() {
		rows = append(rows, []string{fmt.Sprint(e.Code), string(e.Name), e.Meaning})
	}
	return `The exit status says how a command ended. Numbers and names do not change within a major version.

` + columns(rows) + `
Errors are printed as "todoctl: " and one line, then "hint: " and one line. With -o json or jsonl each line on
stderr is one JSON object, error, warning or note, the error last: {"error":{"code":"conflict",...}}. Exit 3 is
silent off a terminal, but for that JSON.

A script takes the status from an assignment; after a while loop $? is that of the loop's body:

  todo=$(todoctl claim -q mail -o env); rc=$?
`
}

func environmentTopic() string {
	var settings, keys [][]string
	for _, v := range config.Variables() {
		text := v.Meaning
		if v.Default != "" {
			text += " (default " + v.Default + ")"
		}
		if v.Key != "" && "TODOCTL_"+strings.ToUpper(v.Key) != v.Env {
			text += "; in the file " + v.Key
		}
		settings = append(settings, []string{v.Env, text})
	}
	for _, k := range config.ProfileKeys() {
		keys = append(keys, []string{k.Key, k.Meaning})
	}
	return `A flag outranks its variable, a variable its key in the config file, and that the default. What is set but empty
is refused. todoctl config shows every value with its source. Filters, --all, --yes, --force and --dry-run come from
the command line alone.

` + columns(settings) + `
In the config file the names are written without TODOCTL_ and in lower case: ttl: 5m. The file is
$XDG_CONFIG_HOME/todoctl/config.yaml, else ~/.config/todoctl/config.yaml. Unknown keys are refused. Under profiles
it lists databases by name; a profile has these keys:

` + columns(keys) + `
Which database: the flags --database-url and --database-url-file; then their variables; then the profile of
--profile or TODOCTL_PROFILE; then the surroundings, which are the file's default_profile or database_url,
DATABASE_URL, and PGHOST, PGPORT, PGDATABASE, PGSERVICE with the service file; at last your own server, while it
runs (todoctl local start). Where the file's default and another of the surroundings name different databases
nothing is tried. The other PG* variables and ~/.pgpass complete what the chosen source leaves open.

Color follows --color, then NO_COLOR, CLICOLOR_FORCE, CLICOLOR=0 and TERM=dumb. TODOCTL_PG_BIN is the folder of the
PostgreSQL programs that todoctl local uses.
`
}

func outputTopic() string {
	var forms [][]string
	for _, f := range render.Formats() {
		forms = append(forms, []string{f.Name, f.Meaning})
	}
	fields := paragraph("  ", strings.Join(render.FieldsOf(todo.Todo{}), ", "))
	return `Answers go to stdout and nothing else does: notes, warnings, prompts and errors go to stderr, notes only to a
terminal. The form is chosen with -o:

` + columns(forms) + `
--fields a,b prints these fields in this order, in table, csv, tsv, json and jsonl. --jq FILTER runs a jq filter over
the JSON answer, or over each line with -o jsonl; strings come out raw. A todo has the fields

` + fields + `
The shape follows from the command line, never from the data: one todo is an object; --limit, several ids or a list
give an array, which is [] when there is nothing. Names are snake_case, times RFC 3339 in UTC (infinity and -infinity
where somebody stored them), and what is not known is null, never missing. Numbers keep every digit. Within a major
version fields are only added.

In tsv a tab, newline, return or backslash in a value is \t, \n, \r, \\, any other control character \xHH; a line is
a row. In tsv and csv null is empty. On a terminal text that could steer it (control, direction and other unseen
characters) is shown escaped in every form; JSON means the same then. Tables fit the terminal, 80 columns where its
width is unknown, and never cut an id; where columns do not fit, each row becomes a block of lines. Widths count the
cells of East Asian text; of emoji joined from several, terminals make different widths.
`
}

// prose wraps the paragraphs of a topic to 80 columns. What begins with a space stays as it is.
func prose(text string) string {
	var b strings.Builder
	for i, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteString("\n")
		}
		if strings.HasPrefix(block, " ") {
			b.WriteString(block + "\n")
			continue
		}
		b.WriteString(paragraph("", block))
	}
	return strings.TrimRight(b.String(), "\n")
}

// columns lays rows out under each other, the last column wrapped to what is left of 80.
func columns(rows [][]string) string {
	widths := make([]int, len(rows[0])-1)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		lead := " "
		for i, w := range widths {
			lead += fmt.Sprintf(" %-*s ", w, row[i])
		}
		margin := strings.Repeat(" ", utf8.RuneCountInString(lead)+1)
		b.WriteString(lead + " " + strings.TrimPrefix(paragraph(margin, row[len(row)-1]), margin))
	}
	return b.String()
}

// paragraph wraps words to 80 columns behind a margin.
func paragraph(margin, words string) string {
	var b strings.Builder
	line := ""
	for _, word := range strings.Fields(words) {
		if line != "" && len(margin)+utf8.RuneCountInString(line+word)+1 > 80 {
			b.WriteString(margin + line + "\n")
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return b.String() + margin + line + "\n"
}
