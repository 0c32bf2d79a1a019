package cmd_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

// TestScripts runs testdata/script: one file for each verb, each with a migrated database of its own.
// They show what users see: what is printed where, and the exit status.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"), RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			url, drop, err := pgtest.DatabaseURL()
			if err != nil {
				return err
			}
			env.Defer(drop)
			config := filepath.Join(env.WorkDir, ".empty.yaml")
			env.Setenv("TODOCTL_DATABASE_URL", url)
			env.Setenv("TODOCTL_CONFIG", config)
			env.Setenv("TODOCTL_OWNER", "w")
			env.Setenv("PATH", os.Getenv(releasedDir)+string(os.PathListSeparator)+env.Getenv("PATH"))
			name, value, _ := strings.Cut(quickExit, "=")
			env.Setenv(name, value)
			return os.WriteFile(config, nil, 0o600)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "keep": keepOutput, "sql": runSQL,
		},
	})
}

// exits runs a command and requires its exit status: exits 3 todoctl claim -q mail
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit %d, want %d", got, want)
	}
}

// keepOutput puts the lines of the last standard output into variables: keep FIRST SECOND
func keepOutput(ts *testscript.TestScript, neg bool, names []string) {
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile("stdout"), "\n"), "\n")
	if neg || len(names) != len(lines) {
		ts.Fatalf("%d names for %d lines", len(names), len(lines))
	}
	for i, name := range names {
		ts.Setenv(name, lines[i])
	}
}

// runSQL runs a statement on the database of the script, for what would otherwise need time to pass.
func runSQL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: sql STATEMENT")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, ts.Getenv("TODOCTL_DATABASE_URL"))
	ts.Check(err)
	defer func() { _ = conn.Close(ctx) }()
	_, err = conn.Exec(ctx, args[0])
	ts.Check(err)
}

// TestEveryVerbHasAScript keeps the scripts complete: a new verb brings one.
func TestEveryVerbHasAScript(t *testing.T) {
	// These have tests of their own: they start servers, upgrade databases, run other programs, wait or need a history.
	elsewhere := map[string]bool{"todoctl": true, "local": true, "migrate": true, "help": true, "work": true, "wait": true, "doctor": true, "leases": true,
		"check": true, "crashes": true, "export": true, "import": true, "owners": true, "tail": true, "top": true, "why": true}
	for _, c := range commands() {
		verb := strings.Fields(c.CommandPath())
		if len(verb) > 2 || elsewhere[c.Name()] {
			continue
		}
		if _, err := os.Stat(filepath.Join("testdata", "script", c.Name()+".txtar")); err != nil {
			t.Errorf("%v: show there what a user of it sees, or name it above", err)
		}
	}
}
