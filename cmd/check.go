package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
)

const checkHelp = `Answer a monitoring system in one line with performance data: is a queue too deep, too old, too dead? Over a
--max is critical, over a --warn a warning; what has neither is not judged. Each queue is judged for itself.
Depth counts pending todos, age is that of the oldest that could be claimed. A queue that is not known cannot be judged.
Why nothing could be judged, as when the database is away, is the line's text then.

On large tables the counts are estimates, marked with ~, unless --exact counts each todo.`

const checkExample = `  todoctl check --max-age 5m --max-dead 10 --max-expired 0 || echo "status $?"
  todoctl check -q mail --warn-depth 1000 --max-depth 10000 -o json || echo "status $?"`

// verdict is the answer to a monitoring system.
type verdict struct {
	Status   string    `json:"status"` // ok, warning, critical
	Problems []problem `json:"problems"`
	Queues   int       `json:"queues"` // judged
	line     string
}

// problem is one measure of one queue that is over its limit.
type problem struct {
	Queue   string  `json:"queue"`
	Measure string  `json:"measure"` // depth, age, dead, expired
	Status  string  `json:"status"`
	Value   float64 `json:"value"` // age in seconds
	Limit   float64 `json:"limit"`
	Guess   bool    `json:"estimated"`
}

// limits are the two limits of one measure; negative where none was given.
type limits struct {
	measure   string
	unit      string
	warn, max float64
}

func newCheck(app *App) *cobra.Command {
	var counts [6]int
	var warnAge, maxAge durationFlag
	exact := false
	c := &cobra.Command{
		Use: "check", Short: "Answer a monitoring system in one line", Long: checkHelp + monitoringStatus, Example: checkExample,
		GroupID: groupInspect, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions, Annotations: map[string]string{monitoring: "yes"},
		RunE: func(c *cobra.Command, _ []string) (err error) {
			defer func() { app.tellMonitoring(err) }()
			for i, n := range counts {
				if name := measures()[i/2]; n < 0 && c.Flags().Changed([]string{"warn-", "max-"}[i%2]+name) {
					return usagef("--%s%s: %d is negative", []string{"warn-", "max-"}[i%2], name, n)
				}
			}
			age := limits{"age", "s", -1, -1}
			if warnAge.value != nil {
				age.warn = warnAge.value.Seconds()
			}
			if maxAge.value != nil {
				age.max = maxAge.value.Seconds()
			}
			all := []limits{{"depth", "", float64(counts[0]), float64(counts[1])}, age,
				{"dead", "", float64(counts[2]), float64(counts[3])}, {"expired", "", float64(counts[4]), float64(counts[5])}}
			return runCheck(c, app, all, exact)
		},
	}
	app.queueFlag(c, true)
	f := c.Flags()
	for i, name := range measures() {
		what := map[string]string{"depth": "todos are pending", "dead": "dead letters", "expired": "leases ran out and wait for a reaper"}[name]
		f.IntVar(&counts[2*i], "warn-"+name, -1, "a warning when more than so many "+what)
		f.IntVar(&counts[2*i+1], "max-"+name, -1, "critical when more than so many "+what)
	}
	f.Var(&warnAge, "warn-age", "a warning when the oldest that could be claimed waits longer")
	f.Var(&maxAge, "max-age", "critical when the oldest that could be claimed waits longer")
	f.BoolVar(&exact, "exact", false, "estimate nothing: count each todo")
	return c
}

// measures are those that count todos, in the order of their limits.
func measures() []string { return []string{"depth", "dead", "expired"} }

func runCheck(c *cobra.Command, app *App, all []limits, exact bool) error {
	shape := render.Shape{Fields: render.FieldsOf(verdict{}), TSV: []string{"status"}}
	if err := app.Check(shape); err != nil {
		return err
	}
	q, err := app.Queue(c.Context(), "check")
	if err != nil {
		return err
	}
	only, least := c.Flags().Lookup("queue").Value.(*listFlag).values, 0
	if exact {
		least = queue.Exactly
	}
	list, err := q.Queues(c.Context(), only, least)
	if err == nil && len(only) > 0 {
		list, err = addDone(c.Context(), q, list, only)
	}
	if err != nil {
		return err
	}
	v := judge(list, all)
	if app.ownForm() {
		err = app.Print(shape, zero(), v)
	} else {
		_, err = fmt.Fprintln(app.Streams.Out, v.line)
	}
	if err != nil {
		return err
	}
	if code := map[string]int{"warning": 1, "critical": 2}[v.Status]; code != 0 {
		return &statusError{code, errSilent}
	}
	return nil
}

// tellMonitoring says on standard output, too, why nothing could be judged: monitoring systems show that line, and seldom what is on
// standard error. Scripts that asked for a form of their own get it or nothing.
func (a *App) tellMonitoring(err error) {
	var status *statusError
	if err = monitored(err); !errors.As(err, &status) || errors.Is(status, errSilent) || a.ownForm() {
		return
	}
	word := map[int]string{2: "CRITICAL", 3: "UNKNOWN"}[status.code]
	_, _ = fmt.Fprintln(a.Streams.Out, render.Clean("TODOCTL "+word+": "+strings.ReplaceAll(status.Error(), "|", "¦"))) // the error is told anyway
}

// ownForm says whether a form of output was asked for.
func (a *App) ownForm() bool { return a.Config.Value("output").IsSet() || a.Flags.JQ != "" }

// addDone adds those of the named queues that have nothing but done todos, and refuses the ones that are not known at all.
func addDone(ctx context.Context, q *queue.Client, list []queue.Counts, only []string) ([]queue.Counts, error) {
	for _, name := range only {
		if slices.ContainsFunc(list, func(c queue.Counts) bool { return c.Queue == name }) {
			continue
		}
		found, err := q.Tallies(ctx, []string{name}, false)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, usagef("--queue: %s is not known", name).WithHint("todoctl queues lists the queues there are")
		}
		list = append(list, found[0].Counts)
	}
	return list, nil
}

// judge holds each measure of each queue against its limits.
func judge(list []queue.Counts, all []limits) verdict {
	v := verdict{Status: "ok", Problems: []problem{}, Queues: len(list)}
	var words, data []string
	for _, q := range list {
		age := 0.0
		if q.OldestSeconds != nil {
			age = *q.OldestSeconds
		}
		values := map[string]float64{"depth": float64(q.Pending), "age": age, "dead": float64(q.Dead), "expired": float64(q.Expired)}
		for _, l := range all {
			value := values[l.measure]
			data = append(data, perfdata(q.Queue, l, value))
			guess := l.measure == "dead" && q.DeadEstimated || (l.measure == "depth" || l.measure == "expired") && q.LiveEstimated
			p := problem{Queue: q.Queue, Measure: l.measure, Value: value, Guess: guess}
			switch {
			case l.max >= 0 && value > l.max:
				p.Status, p.Limit = "critical", l.max
			case l.warn >= 0 && value > l.warn:
				p.Status, p.Limit = "warning", l.warn
			default:
				continue
			}
			if v.Status != "critical" {
				v.Status = p.Status
			}
			v.Problems = append(v.Problems, p)
			mark := ""
			if guess {
				mark = "~"
			}
			words = append(words, fmt.Sprintf("%s %s %s%s%s is over %s%s", q.Queue, l.measure, mark, trim(value), l.unit, trim(p.Limit), l.unit))
		}
	}
	if len(words) == 0 {
		words = []string{fmt.Sprintf("%d queues", len(list))}
	}
	// What stands after the first | is data, and what follows a line break another line: a name made by hand holds neither here.
	text := strings.ReplaceAll(strings.Join(words, ", "), "|", "¦")
	v.line = render.Clean("TODOCTL " + strings.ToUpper(v.Status) + ": " + text + " | " + strings.Join(data, " "))
	return v
}

// perfdata is one value as monitoring plugins print it: 'label'=value[unit];[warn];[crit].
func perfdata(name string, l limits, value float64) string {
	limit := func(n float64) string {
		if n < 0 {
			return ""
		}
		return trim(n)
	}
	return fmt.Sprintf("'%s_%s'=%s%s;%s;%s;0", strings.ReplaceAll(name, "'", "''"), l.measure, trim(value), l.unit, limit(l.warn), limit(l.max))
}

func trim(n float64) string { return strconv.FormatFloat(float64(int64(n*10))/10, 'f', -1, 64) }
