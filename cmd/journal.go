package cmd

import (
	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/config"
	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const journalHelp = `List what operators did, the newest first: retry, bury, bump, purge, prune, pause, resume, undo, import, and
fail and release by force. Each verb that changed something left a row in the transactions that it changed it in: who,
under which role, from which host, when, by which filter, why, and how many. Workers' verbs leave none.`

const journalExample = `  todoctl journal --since 1d
  todoctl journal --verb bury,purge -q mail -o json`

const journalShowHelp = `Show one row of the journal, and the ids of the todos, or the names of the queues, that it touched: the first
1000, or as many as --limit says. With --ids these alone, one a line and all of them. A verb keeps them for 7
days, or as long as before_images in the configuration says; prune keeps none.`

const journalShowExample = `  todoctl journal show "$(todoctl journal -n 1 -o id)"
  todoctl journal show "$(todoctl journal -n 1 -o id)" --ids`

// journalPage is how many rows one statement reads.
const journalPage = 1000

func newJournal(app *App) *cobra.Command {
	c := journalList(app, "journal")
	c.GroupID = groupInspect
	c.AddCommand(journalList(app, "list"), newJournalShow(app))
	return c
}

func journalShape(many bool) render.Shape {
	return render.Shape{Many: many, Fields: render.FieldsOf(queue.Entry{}), ID: "op",
		Table: []string{"op", "verb", "changed", "at", "who?", "reason?"},
		Wide:  []string{"op", "verb", "queues", "matched", "changed", "at", "who", "host", "role", "filter", "options", "reason", "undoes", "undone_by"},
		TSV:   []string{"op", "verb", "changed", "at", "who", "host", "role", "queues", "filter", "reason"}}
}

func journalList(app *App, use string) *cobra.Command {
	var verbs listFlag
	var who, touched wordFlag
	var since, until, after textFlag
	var limit int
	c := &cobra.Command{
		Use: use, Short: "List what operators did", Long: journalHelp, Example: journalExample,
		Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
	}
	queues := app.queueFlag(c, true)
	c.RunE = func(c *cobra.Command, _ []string) error {
		f := queue.JournalFilter{Verbs: verbs.values, Who: who.values, Queues: queues.values, Touched: touched.values}
		var err error
		if f.Since, err = moment("--since", since.value); err != nil {
			return err
		}
		if f.Until, err = moment("--until", until.value); err != nil {
			return err
		}
		if c.Flags().Changed("limit") && limit < 1 {
			return usagef("--limit: %d is not a number of rows", limit)
		}
		if app.people() && limit == 0 {
			limit = tableLimit
		}
		return app.journal(c, f, text(after.value), limit)
	}
	f := c.Flags()
	f.Var(&verbs, "verb", "only this verb")
	f.Var(&who, "who", "only by this operator")
	f.Var(&touched, "todo", "only what touched this todo")
	f.Var(&since, "since", "only since then: RFC 3339, or a duration back from now")
	f.Var(&until, "until", "only before then")
	f.Var(&after, "after", "go on after this op, to older ones")
	f.IntVarP(&limit, "limit", "n", 0, "at most so many; 50 for a table on a terminal, else all")
	return exitStatus(c, database()...)
}

// journal prints the list, page by page.
func (a *App) journal(c *cobra.Command, f queue.JournalFilter, after string, limit int) error {
	shape := journalShape(true)
	if err := a.Check(shape); err != nil {
		return err
	}
	keys, err := a.secretKeys()
	if err != nil {
		return err
	}
	q, err := a.Queue(c.Context(), "journal")
	if err != nil {
		return err
	}
	var w *render.Writer
	for left := limit; ; {
		size := journalPage
		if limit > 0 {
			size = min(size, left)
		}
		list, now, err := q.Journal(c.Context(), f, after, size)
		if err != nil {
			return err
		}
		if w == nil {
			if w, err = a.Answer(shape, now); err != nil {
				return err
			}
		}
		for _, e := range list {
			redactEntry(&e, keys)
			if err := w.Row(e); err != nil {
				return err
			}
			after = e.Op
		}
		if left -= len(list); len(list) < size || limit > 0 && left == 0 {
			if a.people() && len(list) == size {
				defer a.Note("the newest %d; --limit N shows more, --after %s goes on", limit, after)
			}
			return w.Close()
		}
	}
}

// entryShown is an entry with what it touched.
type entryShown struct {
	queue.Entry
	IDs  []string `json:"ids"`  // todos, or queues
	More bool     `json:"more"` // there are more ids than were shown
}

func newJournalShow(app *App) *cobra.Command {
	var limit int
	var only bool
	c := &cobra.Command{
		Use: "show OP", Short: "Show what one verb did, and to which todos", Long: journalShowHelp, Example: journalShowExample,
		Args: cobra.ExactArgs(1), ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, args []string) error {
			if args[0] == "" {
				return usagef("the op is empty")
			}
			if limit < 1 {
				return usagef("--limit: %d is not a number of ids", limit)
			}
			shape := journalShape(false)
			shape.Fields = render.FieldsOf(entryShown{})
			shape.Table, shape.Wide = nil, nil
			if only {
				shape = render.Shape{Many: true, Fields: render.FieldsOf(queue.Touched{}), TSV: []string{"id"}}
			}
			if err := app.Check(shape); err != nil {
				return err
			}
			keys, err := app.secretKeys()
			if err != nil {
				return err
			}
			q, err := app.Queue(c.Context(), "journal")
			if err != nil {
				return err
			}
			e, now, err := q.Entry(c.Context(), args[0])
			if err != nil {
				return err
			}
			w, err := app.Answer(shape, now)
			if err != nil {
				return err
			}
			if only {
				return app.touched(c, q, w, args[0])
			}
			redactEntry(&e, keys)
			list, err := q.Touched(c.Context(), e.Op, "", limit+1)
			if err != nil {
				return err
			}
			s := entryShown{Entry: e, IDs: []string{}, More: len(list) > limit}
			for _, t := range list[:min(limit, len(list))] {
				s.IDs = append(s.IDs, t.ID)
			}
			if err := w.Row(s); err != nil {
				return err
			}
			return w.Close()
		},
	}
	c.Flags().IntVarP(&limit, "limit", "n", journalPage, "at most so many ids")
	c.Flags().BoolVar(&only, "ids", false, "the ids alone, all of them")
	return exitStatus(c, database(todo.CodeNotFound)...)
}

// touched prints every id, page by page.
func (a *App) touched(c *cobra.Command, q *queue.Client, w *render.Writer, op string) error {
	for after, full := "", true; full; {
		list, err := q.Touched(c.Context(), op, after, journalPage)
		if err != nil {
			return err
		}
		for _, t := range list {
			if err := w.Row(t); err != nil {
				return err
			}
			after = t.ID
		}
		full = len(list) == journalPage
	}
	return w.Close()
}

// moment reads the value of a flag that is a time; nil is none.
func moment(flag string, text *string) (queue.Moment, error) {
	if text == nil {
		return queue.Moment{}, nil
	}
	at, err := config.ParseMoment(*text)
	if err != nil {
		return queue.Moment{}, asUsage(flag, err)
	}
	if at.At.IsZero() {
		return queue.Moment{Back: &at.Back}, nil
	}
	return queue.Moment{At: &at.At}, nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
