package cmd

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/config"
	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/localpg"
	"github.com/todoctl/todoctl/pkg/queue"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

// App is what a command is made of: streams, settings, and a connection that is opened when it is
// asked for and not before.
type App struct {
	Streams Streams
	Env     []string
	Config  *config.Config
	Version VersionInfo
	Flags   GlobalFlags

	start   time.Time
	told    bool   // which database is meant
	running bool   // the command line was accepted
	fault   error  // of the command line, where the parser has no way to return one
	cancel  func() // of the deadline
	queue   *queue.Client
}

// GlobalFlags are the flags that have no variable and no config key.
type GlobalFlags struct {
	Fields []string
	JQ     string
	Quiet  bool
	Yes    bool

	ReadReplica bool // of the commands that only read
}

// Getenv returns a variable of the environment that the App was made with.
func (a *App) Getenv(name string) string {
	for _, kv := range a.Env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// flagsOf returns the flags that were given to a command.
func flagsOf(c *cobra.Command) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if f := c.Flags().Lookup(name); f != nil && f.Changed {
			return f.Value.String(), true
		}
		return "", false
	}
}

// load reads the settings once the command line is known, and starts the command's own deadline.
func (a *App) load(c *cobra.Command) error {
	cfg, err := config.Load(config.Input{
		Env:      a.Env,
		Flags:    flagsOf(c),
		LocalURL: func() (string, bool) { return localpg.RunningURL(a.Getenv) },
	})
	if err != nil {
		return err
	}
	a.Config = cfg
	for _, w := range cfg.Warnings {
		a.Warn("%s", w)
	}
	timeout, err := cfg.Duration("timeout")
	if err != nil {
		return err
	}
	if timeout > 0 {
		ctx, cancel := context.WithDeadline(c.Context(), a.start.Add(timeout))
		a.cancel = cancel
		c.SetContext(ctx)
	}
	_, err = cfg.OneOf("color", "auto", "always", "never")
	return err
}

// Close ends what the App opened.
func (a *App) Close() {
	if a.queue != nil {
		a.queue.Close()
		a.queue = nil
	}
	if a.cancel != nil {
		a.cancel()
	}
}

// renderOptions returns what the user and the terminal ask of an answer. now is the server's clock
// where it is known.
func (a *App) renderOptions(now time.Time) render.Options {
	v := a.Config.Value("output")
	return render.Options{Format: v.Text, Source: v.Source, Fields: a.Flags.Fields, JQ: a.Flags.JQ, TTY: a.Streams.OutTTY,
		Width: a.Streams.Width, Color: render.UseColor(a.Config.Value("color").Text, a.Getenv, a.Streams.OutTTY), Now: now}
}

// Check refuses an output that the shape cannot have, before the database is asked.
func (a *App) Check(s render.Shape) error { return render.Check(s, a.renderOptions(time.Time{})) }

// Answer returns a writer of the user's form on stdout.
func (a *App) Answer(s render.Shape, now time.Time) (*render.Writer, error) {
	return render.New(a.Streams.Out, s, a.renderOptions(now))
}

// Print writes rows in the user's form: for a shape of one object, exactly one.
func (a *App) Print(s render.Shape, now time.Time, rows ...any) error {
	w, err := a.Answer(s, now)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := w.Row(r); err != nil {
			return err
		}
	}
	return w.Close()
}

// Report prints what a verb changed, unless --quiet.
func (a *App) Report(s render.Shape, rows ...any) error {
	if a.Flags.Quiet {
		return nil
	}
	return a.Print(s, time.Time{}, rows...)
}

func (a *App) json() bool {
	f := a.Config.Value("output").Text
	return f == render.JSON || f == render.JSONL || a.Flags.JQ != ""
}

// Note tells a person something that is not the answer: on a terminal alone, and never with --quiet.
func (a *App) Note(format string, args ...any) {
	if a.Streams.ErrTTY && !a.Flags.Quiet {
		render.Note(a.Streams.Err, fmt.Sprintf(format, args...), a.Config != nil && a.json())
	}
}

// Warn tells of something that may be wrong although the command goes on.
func (a *App) Warn(format string, args ...any) {
	if !a.Flags.Quiet {
		render.Warning(a.Streams.Err, fmt.Sprintf(format, args...), a.Config != nil && a.json())
	}
}

func (a *App) warnText(text string) { a.Warn("%s", text) }

// Confirm asks before a verb touches what nobody named, in production by the name of the profile. Where nobody can be asked it
// needs --yes.
func (a *App) Confirm(ctx context.Context, question string) error {
	if a.Flags.Yes {
		return nil
	}
	profile, err := a.production()
	if err != nil {
		return err
	}
	if !a.Streams.InTTY || !a.Streams.ErrTTY {
		if profile != "" {
			question += " (profile " + profile + " is production)"
		}
		return usagef("not confirmed: %s", question).WithHint("say --yes to do it, or --dry-run to see what it would do")
	}
	how := "[y/N]"
	if profile != "" {
		how = "this is production: type " + profile + " to do it:"
	}
	fmt.Fprintf(a.Streams.Err, "%s %s ", render.Clean(question), render.Clean(how))
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(a.Streams.In).ReadString('\n')
		answer <- strings.TrimSpace(line)
	}()
	select {
	case <-ctx.Done():
		return dbconn.WaitError(ctx, "the question was answered")
	case s := <-answer:
		if yes := strings.ToLower(s); profile == "" && (yes == "y" || yes == "yes") || profile != "" && s == profile {
			return nil
		}
		return usagef("not confirmed; nothing was changed")
	}
}

// Owner returns who asks, and whether the user named it: the setting, else user@host, which never fails.
func (a *App) Owner() (name string, named bool, err error) {
	v := a.Config.Value("owner")
	if v.IsSet() {
		if err := todo.CheckOwner("owner", v.Text); err != nil {
			return "", true, asUsage(v.Source, err)
		}
		return v.Text, true, nil
	}
	return a.me(), false, nil
}

func (a *App) me() string {
	who := strconv.Itoa(os.Getuid())
	if u, err := user.Current(); err == nil && u.Username != "" {
		who = u.Username
	}
	return strings.ToValidUTF8(who, "_") + "@" + hostname()
}

func hostname() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	return strings.ToValidUTF8(host, "_")
}

// wait sleeps for d, or returns the error of a context that ends before.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
