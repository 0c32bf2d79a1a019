package cmd

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const groupsHelp = `Group dead letters by what they have in common, the most first: by the likeness of their errors, which is the
text without numbers, ids, quoted text, paths and times; or with --by by error, kind, queue and parts of the
payload. Every filter goes with it, and every command that filters takes a fingerprint with --fp.`

const groupsExample = `  todoctl dead-letters groups
  todoctl dead-letters groups --by error,queue,payload.to --since 1d -o json`

// allGroups is how many groups there are at most where --limit does not say.
const allGroups = 100_000

func newGroups(app *App) *cobra.Command {
	var o listOptions
	by := listFlag{}
	c := &cobra.Command{
		Use: "groups", Short: "Group dead letters by the likeness of their errors", Long: groupsHelp, Example: groupsExample,
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			g, err := groupBy(by.values)
			if err != nil {
				return err
			}
			shape := render.Shape{Many: true, Fields: render.FieldsOf(queue.Group{}), ID: "fingerprint",
				Table: groupColumns(g), TSV: []string{"fingerprint", "kind", "queue", "value", "count", "first", "last", "attempts", "sample"}}
			if err := app.Check(shape); err != nil {
				return err
			}
			f, err := o.filters.filter(todo.IsDead)
			if err != nil {
				return err
			}
			limit := allGroups
			if c.Flags().Changed("limit") {
				if limit = o.limit; limit < 1 {
					return usagef("--limit: %d is not a number of groups", limit)
				}
			} else if app.people() {
				limit = tableLimit
			}
			keys, err := app.secretKeys()
			if err != nil {
				return err
			}
			if i := slices.IndexFunc(g.Path, func(s string) bool { return namedIn(keys, s) }); i >= 0 {
				return usagef("--by: %s is one of the keys whose values are taken out (%s)", g.Path[i], app.Config.Value("redact").Source)
			}
			q, err := app.Queue(c.Context(), "dead-letters")
			if err != nil {
				return err
			}
			end := app.busy("grouping dead letters")
			list, err := q.Groups(c.Context(), f, g, limit)
			end()
			if err != nil {
				return filterFault(err)
			}
			rows := make([]any, len(list))
			for i, r := range list {
				redactText(r.Value, keys)
				rows[i] = r
			}
			if err := app.Print(shape, zero(), rows...); err != nil {
				return err
			}
			if app.people() && len(list) == limit {
				app.Note("the first %d groups; --limit N shows more", limit)
			}
			return nil
		},
	}
	o.filters = app.filterFlags(c, false)
	c.Flags().Var(&by, "by", "error (the default), kind, queue, payload.PATH; several joined by commas")
	c.Flags().IntVarP(&o.limit, "limit", "n", 0, "at most so many; 50 for a table on a terminal, else all")
	_ = c.RegisterFlagCompletionFunc("by", cobra.FixedCompletions([]string{"error", "kind", "queue"}, cobra.ShellCompDirectiveNoFileComp))
	return exitStatus(c, database()...)
}

// groupBy reads the values of --by.
func groupBy(values []string) (queue.GroupBy, error) {
	var g queue.GroupBy
	if len(values) == 0 {
		g.Error = true
	}
	for _, v := range values {
		path, isPath := strings.CutPrefix(v, "payload.")
		switch {
		case v == "error":
			g.Error = true
		case v == "kind":
			g.Kind = true
		case v == "queue":
			g.Queue = true
		case isPath && g.Path == nil && !slices.Contains(strings.Split(path, "."), ""):
			g.Path = strings.Split(path, ".")
		case isPath:
			return g, usagef("--by: %q is not one path into the payload, as in payload.customer.id", v)
		default:
			return g, usagef("--by: %q is not one of error, kind, queue, payload.PATH", v)
		}
	}
	return g, nil
}

// groupColumns are the columns for people: what the groups were made by, then what they amount to.
func groupColumns(g queue.GroupBy) []string {
	var columns []string
	for name, used := range map[string]bool{"fingerprint": g.Error, "kind": g.Kind, "queue": g.Queue, "value": g.Path != nil} {
		if used {
			columns = append(columns, name)
		}
	}
	slices.Sort(columns)
	return append(columns, "count", "last?", "attempts?", "sample")
}
