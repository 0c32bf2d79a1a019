//go:build unix

package cmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
	"github.com/todoctl/todoctl/pkg/worker"
)

const workHelp = `Make a worker of any command: claim todos, run the command for each, renew the leases meanwhile. The payload
is on the command's stdin, the rest in TODO_ID, TODO_RECEIPT, TODO_QUEUE, TODO_KIND, TODO_TITLE, TODO_SOURCE,
TODO_KEY, TODO_OWNER, TODO_ATTEMPT, TODO_MAX_ATTEMPTS and TODO_DEADLINE.

The exit code says what becomes of the todo: 0 done; 65 and 78 a dead letter; 99 given back, no attempt spent;
any other failed, with backoff; death by signal a crash; 126 and 127 end the worker. --on changes that. On file
descriptor 3 the command may say more, a line of JSON each: {"result":…} {"progress":40} {"retry_in":"5m"}
{"extend":"2m"} {"error":"…"}.

The first signal stops claiming, waits --grace for the commands and gives back what they had; a second one ends
at once. With --batch and --stream a command gets many todos as lines (todoctl help worker).`

const workExample = `  todoctl work -q mail --drain -- sh -c 'jq -r .to'
  todoctl work -q mail -c 4 --ttl 60s --run-timeout 10m --on 3=dead --drain -- true`

type workOptions struct {
	concurrency, max, batch, failedExit   int
	runTimeout, grace, releaseDelay, idle durationFlag
	drain, stream, noListen, strict       bool
	result                                string
	keepEnv                               []string
	on                                    worker.Map
}

func newWork(app *App) *cobra.Command {
	o := workOptions{on: worker.DefaultMap()}
	c := &cobra.Command{
		Use: "work [flags] -- COMMAND [ARG...]", Short: "Run a command for each todo, under a lease that renews itself", Long: workHelp, Example: workExample,
		GroupID: groupWork, Args: cobra.MinimumNArgs(1), ValidArgsFunction: completeFiles,
		RunE: func(c *cobra.Command, args []string) error { return runWork(c, app, &o, args) },
	}
	f := c.Flags()
	app.queueFlag(c, false)
	f.String("owner", "", "who holds the leases; user@host where none is named")
	f.String("ttl", "", "length of a lease, renewed at a third of it, 1s to 7d (default 5m)")
	f.IntVarP(&o.concurrency, "concurrency", "c", 1, "commands at once")
	f.Var(&o.runTimeout, "run-timeout", "stop a command that runs longer; its todo has failed")
	f.Var(&o.grace, "grace", "from the signal to end until commands are stopped (default 20s)")
	f.Var(&o.releaseDelay, "release-delay", "before a todo that a command gave back may be claimed again (default 10s)")
	f.Var(&o.on, "on", "what follows on an exit code, a range or signal: 3=dead,10-19=release,signal=fail; done, fail, dead, release, crash, stop")
	f.StringSliceVar(&o.keepEnv, "keep-env", nil, "leave this variable of todoctl's own connection to the command")
	f.StringVar(&o.result, "result", "", "stdout: the last line of the command's stdout is the result")
	f.BoolVar(&o.drain, "drain", false, "end when nothing is claimable")
	f.IntVar(&o.max, "max", 0, "end after so many todos")
	f.Var(&o.idle, "idle", "end after idling so long")
	f.IntVar(&o.failedExit, "on-failed-exit", 7, "exit status of a drain in which some failed")
	f.IntVar(&o.batch, "batch", 0, "give a command up to so many todos as lines on stdin")
	f.BoolVar(&o.stream, "stream", false, "keep the command alive and give it line after line")
	f.BoolVar(&o.noListen, "no-listen", false, "look for work now and then instead of LISTEN")
	f.BoolVar(&o.strict, "strict-order", false, "several queues: in the order given, not by the oldest head")
	return exitStatus(c, database(todo.CodePartial, todo.CodeUnknown)...)
}

// options checks the flags and makes the worker's options of them.
func (o *workOptions) options(c *cobra.Command, app *App, args []string) (worker.Options, error) {
	opt := worker.Options{Command: args, Concurrency: o.concurrency, RunTimeout: o.runTimeout.or(0), Grace: o.grace.or(20 * time.Second),
		ReleaseDelay: o.releaseDelay.or(10 * time.Second), On: o.on, StdoutResult: o.result == "stdout", Drain: o.drain, Max: o.max,
		Idle: o.idle.or(0), Batch: o.batch, Stream: o.stream, Listen: !o.noListen, Warn: app.warnText}
	for flag, bad := range map[string]bool{"--concurrency": o.concurrency < 1 || o.concurrency > 1000, "--max": o.max < 0 || c.Flags().Changed("max") && o.max == 0,
		"--batch": o.batch < 0 || o.batch > 500 || c.Flags().Changed("batch") && o.batch == 0, "--on-failed-exit": o.failedExit < 0 || o.failedExit > 255} {
		if bad {
			return opt, usagef("%s: the number is out of range", flag)
		}
	}
	if o.result != "" && o.result != "stdout" {
		return opt, usagef("--result: %q is not stdout", o.result)
	}
	if err := app.Check(render.Shape{Fields: render.FieldsOf(worker.Event{})}); err != nil {
		return opt, err
	}
	owner, _, err := app.Owner()
	if err != nil {
		return opt, err
	}
	ttl, err := app.Config.Duration("ttl")
	if err != nil {
		return opt, err
	}
	queues, err := app.queues(c)
	if err != nil {
		return opt, err
	}
	if len(queues) == 0 {
		return opt, usagef("no queue").WithHint("name one with -q NAME, TODOCTL_QUEUE or queue: in the config file; todoctl queues lists them")
	}
	opt.Claim = queue.ClaimParams{Queues: queues, Owner: owner, TTL: ttl, Strict: o.strict, Again: !opt.Drain}
	lines := &lockedWriter{w: app.Streams.Err}
	app.Streams.Err = lines // warnings too: one line never tears another apart
	opt.Stderr, opt.Log, opt.Guard = lines, app.logEvent, guard()
	if app.json() {
		opt.Stderr = outputLines{lines}
	}
	opt.Env, err = app.childEnv(o.keepEnv)
	return opt, err
}

func runWork(c *cobra.Command, app *App, o *workOptions, args []string) error {
	opt, err := o.options(c, app, args)
	if err != nil {
		return err
	}
	q, err := app.Queue(c.Context(), "work")
	if err != nil {
		return err
	}
	app.notePolling(o.noListen && !o.drain)
	// What a todo needs is garbage a moment later, and there is little at a time: to collect it less often saves
	// a quarter of the worker's own processor time.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	defer keepPipeErrors()() // nobody who reads the log is no reason to leave leases behind
	sum, err := worker.Run(c.Context(), q, opt)
	var cannot *worker.CannotRun
	switch {
	case errors.As(err, &cannot):
		return &statusError{cannot.Code, todo.Errorf(todo.CodeUsage, "%v; every todo was given back", cannot)}
	case err != nil:
		return err
	case errors.Is(c.Context().Err(), context.DeadlineExceeded):
		return interrupted(c.Context())
	case o.drain && c.Context().Err() == nil && sum.Failed > 0 && o.failedExit != 0:
		return &statusError{o.failedExit, todo.Errorf(todo.CodePartial, "%d done, %d failed, %d released, %d lost", sum.Done, sum.Failed, sum.Released, sum.Lost)}
	}
	return nil
}

// lockedWriter lets many write whole lines.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

// Write writes one line, or some.
func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Write(p)
}

// outputLines makes the lines of commands JSON objects, as every line on stderr is then.
type outputLines struct{ to io.Writer }

// Write writes one line.
func (w outputLines) Write(p []byte) (int, error) {
	b, err := json.Marshal(map[string]string{"output": strings.TrimSuffix(string(p), "\n")})
	if err != nil {
		return 0, err
	}
	_, err = w.to.Write(append(b, '\n'))
	return len(p), err
}

// logEvent writes the line that each lease gets when it has ended.
func (a *App) logEvent(e worker.Event) {
	if a.Flags.Quiet {
		return
	}
	line := fmt.Sprintf("%s %s %s attempt %d %.3fs", e.Outcome, e.ID, e.Queue, e.Attempt, e.Seconds)
	if e.Error != nil {
		line += " " + *e.Error
	}
	line = render.Clean(line)
	if a.json() {
		b, err := json.Marshal(map[string]worker.Event{"todo": e})
		if err != nil {
			return
		}
		line = string(b)
	}
	_, _ = a.Streams.Err.Write([]byte(line + "\n")) // a log that cannot be written must not stop the work
}
