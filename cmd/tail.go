package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const tailHelp = `Follow what becomes of todos, a line for each transition, until a signal ends it: when, which todo, from which
condition to which, who did it, at which attempt, with what error. --since goes back first; --state takes what
todos come to, --held-by who did it.

It looks at the tables once a second and holds no transaction in between. Commits that come late are seen for ten
minutes. Not seen are todos that are deleted, what only the clock changes (a delay that is over, a lease that ran
out), renewals, several moves of an operator within a second, and claims that stand behind ten thousand leases,
delays and backoffs that end before them; such a claim is told when it has ended.`

const tailExample = `  todoctl tail -q mail --timeout 2s || echo "ended with $?"
  todoctl tail --state dead --since 1h -o jsonl --timeout 1s || echo "ended with $?"`

// tailEvery is how long a tail waits at least from one look to the next; it waits longer where a look takes long.
const tailEvery = time.Second

func newTail(app *App) *cobra.Command {
	var x *filters
	var limit int
	c := &cobra.Command{
		Use: "tail", Short: "Follow what becomes of todos", Long: tailHelp, Example: tailExample,
		GroupID: groupInspect, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(c *cobra.Command, _ []string) error {
			f, err := x.filter()
			if err != nil {
				return err
			}
			if c.Flags().Changed("limit") && limit < 1 {
				return usagef("--limit: %d is not a number of transitions", limit)
			}
			back := time.Duration(0)
			if f.Since.Back != nil {
				back = *f.Since.Back
			}
			if f.Since.At != nil || f.Until != (queue.Moment{}) {
				return usagef("--since: how far back, as a duration; --until does not go with tail")
			}
			return app.runTail(c.Context(), queue.NewTail(f, back), limit)
		},
	}
	x = app.filterFlags(c, true)
	c.Flags().IntVarP(&limit, "limit", "n", 0, "end after so many transitions")
	return exitStatus(c, database()...)
}

func tailShape() render.Shape {
	return render.Shape{Many: true, Fields: render.FieldsOf(queue.Transition{}),
		TSV: []string{"id", "at", "queue", "kind", "from", "to", "owner", "attempt", "error"}}
}

// transitions prints transitions as they come: lines for people, else the form that was asked for.
type transitions struct {
	app *App
	w   *render.Writer // nil for people: a table would be printed at its end
}

func (a *App) transitions() (*transitions, error) {
	o := a.renderOptions(zero())
	if o.JQ != "" && o.Format != render.JSON {
		o.Format = render.JSONL // a filter of each line; of an array it would wait for the end
	}
	w, err := render.New(a.Streams.Out, tailShape(), o)
	if err != nil || a.people() {
		w = nil
	}
	return &transitions{a, w}, err
}

func (p *transitions) print(list []queue.Transition) error {
	for _, t := range list {
		if p.w == nil {
			if _, err := fmt.Fprintln(p.app.Streams.Out, transitionLine(t)); err != nil {
				return todo.Errorf(todo.CodeInternal, "write output: %v", err)
			}
			continue
		}
		if err := p.w.Row(t); err != nil {
			return err
		}
	}
	if p.w == nil || len(list) == 0 {
		return nil
	}
	return p.w.Flush()
}

// close ends the answer in order, unless its --timeout ran out.
func (p *transitions) close(ctx context.Context) error {
	var err error
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = interrupted(ctx)
	}
	if p.w != nil {
		err = errors.Join(err, p.w.Close())
	}
	return err
}

// transitionLine is one transition for people: the time of day here, and no text that a terminal acts upon.
func transitionLine(t queue.Transition) string {
	at, _ := t.At.Time()
	words := []string{at.Local().Format("15:04:05.000"), t.ID, t.Queue}
	if t.Kind != "" {
		words = append(words, t.Kind)
	}
	from := "?"
	if t.From != nil {
		from = string(*t.From)
	} else if t.LeaseSeq == 0 {
		from = "new"
	}
	words = append(words, from+" -> "+string(t.To))
	if t.LeaseSeq > 0 {
		words = append(words, fmt.Sprintf("attempt %d", t.Attempt))
	}
	if t.Owner != nil {
		words = append(words, *t.Owner)
	}
	if t.Outcome != nil && *t.Outcome != "failed" {
		words = append(words, "("+*t.Outcome+")")
	}
	if t.Error != nil {
		line, _, _ := strings.Cut(*t.Error, "\n")
		words = append(words, line)
	}
	return render.Clean(strings.Join(words, "  "))
}

// runTail looks again and again until a signal ends it. A database that is away is waited for, and said
// once; the next look goes back to before that.
func (a *App) runTail(ctx context.Context, l *queue.Tail, limit int) error {
	p, err := a.transitions()
	if err != nil {
		return err
	}
	q, err := a.Queue(ctx, "tail")
	if err != nil {
		return err
	}
	told, away := 0, time.Duration(0)
	for {
		begun := time.Now()
		list, err := l.Look(ctx, q)
		switch {
		case ctx.Err() != nil:
			return p.close(ctx)
		case errors.Is(err, todo.ErrUnavailable) || errors.Is(err, todo.ErrUnknown):
			if away == 0 {
				a.Warn("%v; trying again", err)
			}
			away = min(max(away*2, time.Second), longestPause)
		case err != nil:
			return filterFault(err)
		default:
			away = 0
			more := limit == 0 || len(list) < limit-told
			if !more {
				list = list[:limit-told]
			}
			told += len(list)
			if err := p.print(list); err != nil || !more {
				return errors.Join(err, p.close(ctx))
			}
		}
		if wait(ctx, max(tailEvery, away, 4*time.Since(begun))) != nil {
			return p.close(ctx)
		}
	}
}
