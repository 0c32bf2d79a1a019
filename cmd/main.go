// Package cmd is the command line of todoctl: one file for each verb, flat, named as it is typed.
// Nothing here reads the process environment or writes to a stream that it was not handed.
package cmd

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

// Streams are where a command reads and writes, and which of them are terminals.
type Streams struct {
	In                    io.Reader
	Out, Err              io.Writer
	InTTY, OutTTY, ErrTTY bool
	Width                 int // columns of the terminal that Out is; 0 when unknown
}

// OSStreams returns the streams of this process.
func OSStreams() Streams {
	s := Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY: term.IsTerminal(int(os.Stdin.Fd())), OutTTY: term.IsTerminal(int(os.Stdout.Fd())), ErrTTY: term.IsTerminal(int(os.Stderr.Fd()))}
	if width, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		s.Width = width
	}
	return s
}

// Main runs one command and returns its exit status. A first signal cancels what is under way; when
// that has been cleaned up, the process dies of the signal itself, so that a shell stops its loop too.
// A second signal ends it at once.
func Main(args []string, s Streams, env []string, v VersionInfo) int {
	start := time.Now()
	deepen()
	ctx, caught := withSignals(context.Background())
	app := &App{Streams: s, Env: env, Version: v, start: start}
	defer app.Close()
	root := newRoot(app, args)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = app.fault
	}
	app.Close()
	if err != nil && !app.running {
		err = usageFault(err)
	}
	if c, _, _ := root.Find(args); c != nil && c.Annotations[monitoring] != "" {
		err = monitored(err)
	}
	code := app.report(args, err)
	if sig := caught(); sig != nil && code == codeInterrupted {
		die(sig)
	}
	return code
}

// deepen makes the stack as deep at once as a command needs it, while there is nothing on it. Otherwise it doubles again and again on
// the way down, and is copied each time: a twentieth of the time of a claim.
//
//go:noinline
func deepen() {
	var room [12 << 10]byte
	runtime.KeepAlive(&room)
}

// usageFault makes a usage error of what the flag and argument parser complains about.
func usageFault(err error) error {
	var e *todo.Error
	if errors.As(err, &e) {
		return err
	}
	first, rest, _ := strings.Cut(err.Error(), "\n")
	u := todo.Errorf(todo.CodeUsage, "%s", first)
	if near := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(rest), "Did you mean this?")); near != "" {
		return u.WithHint("did you mean %s?", strings.Join(strings.Fields(near), " or "))
	}
	return u.WithHint("todoctl --help lists the commands, todoctl COMMAND --help its flags")
}

// report prints the error, if any, and returns the exit status.
func (a *App) report(args []string, err error) int {
	if err == nil {
		return 0
	}
	code := exitCode(err)
	json := a.jsonErrors(args)
	if a.format(args) == render.EnvForm {
		// Whatever went wrong, eval must fail with it and must not leave an old todo behind.
		_ = render.EnvNone(a.Streams.Out, code)
	}
	switch {
	case errors.Is(err, errSilent):
	case errors.Is(err, todo.ErrEmpty) && !json && (!a.Streams.ErrTTY || a.Flags.Quiet):
	case code == codeInterrupted && !json:
	default:
		render.Error(a.Streams.Err, err, json, a.Streams.ErrTTY)
	}
	return code
}

// jsonErrors says whether errors are printed as JSON. The command line may have been refused before
// it was read to its end, so it is looked at as it stands.
func (a *App) jsonErrors(args []string) bool {
	f := a.format(args)
	return f == render.JSON || f == render.JSONL || a.Flags.JQ != ""
}

func (a *App) format(args []string) string {
	for i, s := range args {
		if s == "--" {
			break
		}
		if v, ok := strings.CutPrefix(s, "--output="); ok {
			return v
		}
		if (s == "-o" || s == "--output") && i+1 < len(args) {
			return args[i+1]
		}
		if v, ok := strings.CutPrefix(s, "-o"); ok && v != "" {
			return strings.TrimPrefix(v, "=")
		}
	}
	if a.Config != nil {
		return a.Config.Value("output").Text
	}
	return a.Getenv("TODOCTL_OUTPUT")
}
