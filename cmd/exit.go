package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/todo"
)

// ExitCode is one exit status and when a command ends with it.
type ExitCode struct {
	Code    int
	Name    todo.Code
	Meaning string
}

const (
	codeOK          = 0
	codeEmpty       = 3
	codeInterrupted = 130
)

// errSilent ends a command with a status of its own, about which everything has been said.
var errSilent = errors.New("said already")

// ExitCodes is the only table of exit statuses in the program: help, reference and Main are made of it.
func ExitCodes() []ExitCode {
	return []ExitCode{
		{codeOK, "ok", "done; an empty list, an empty sweep and a duplicate enqueue are successes"},
		{1, todo.CodeInternal, "a fault of todoctl, or output that could not be written"},
		{2, todo.CodeUsage, "bad flag, argument or config, or not confirmed; the source is named"},
		{codeEmpty, todo.CodeEmpty, "nothing to claim; the reason is told: none, delayed, paused, assigned, unknown-queue"},
		{4, todo.CodeConflict, "the todo is there, but not in the state, lease or key that the verb needs"},
		{5, todo.CodeNotFound, "no such todo"},
		{6, todo.CodeData, "bad input; lines are named with number and reason, and nothing is written unless --skip-invalid"},
		{7, todo.CodePartial, "some and not others; the counts and each refusal are printed"},
		{8, todo.CodeUnavailable, "the database cannot be reached or is read-only: try later"},
		{9, todo.CodeUnknown, "the connection broke during the commit: the outcome is unknown; the message says how to find out"},
		{10, todo.CodeSchema, "schema missing, or older than this release needs; the message says which command mends it"},
		{11, todo.CodeDenied, "the database role lacks a right; the message names it"},
		{124, todo.CodeTimeout, "the command's own --timeout ran out"},
		{codeInterrupted, todo.CodeInterrupted, "interrupted: the process dies of the signal itself, which shells show as 130 or 143"},
	}
}

// statusError ends a command with a status that is not its error's own.
type statusError struct {
	code int
	err  error
}

func (e *statusError) Error() string { return e.err.Error() }

// Unwrap returns the error that is told.
func (e *statusError) Unwrap() error { return e.err }

// exitCode returns the exit status of an error.
func exitCode(err error) int {
	var own *statusError
	if errors.As(err, &own) {
		return own.code
	}
	code := todo.CodeOf(err)
	for _, e := range ExitCodes() {
		if e.Name == code {
			return e.Code
		}
	}
	return 1
}

// exitCodesOf annotates a command with the names of its exit codes.
const exitCodesOf = "exit-codes"

// exitStatus notes the exit codes with which the help of a command ends. Those that every command can end
// with are added to the ones given.
func exitStatus(c *cobra.Command, codes ...todo.Code) *cobra.Command {
	names := "ok," + string(todo.CodeInternal) + "," + string(todo.CodeUsage)
	for _, code := range codes {
		names += "," + string(code)
	}
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[exitCodesOf] = names
	return c
}

func exitStatusText(codes []string) string {
	var b strings.Builder
	b.WriteString("EXIT STATUS\n")
	for _, e := range ExitCodes() {
		if slices.Contains(codes, string(e.Name)) {
			fmt.Fprintf(&b, "  %-4d %-12s %s\n", e.Code, e.Name, e.Meaning)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// database are the codes of every command that asks the database.
func database(more ...todo.Code) []todo.Code {
	return append(more, todo.CodeUnavailable, todo.CodeSchema, todo.CodeDenied, todo.CodeTimeout, todo.CodeInterrupted)
}

func usagef(format string, args ...any) *todo.Error {
	return todo.Errorf(todo.CodeUsage, format, args...)
}

// asUsage turns a data error about a flag or argument into the usage error that it is there, and
// names the flag.
func asUsage(flag string, err error) error {
	var e *todo.Error
	if err == nil || !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Code, c.Message = todo.CodeUsage, flag+": "+c.Message
	return &c
}

// interrupted is the error of a command that goes on until it is told to end, when a signal or the deadline ended it.
func interrupted(ctx context.Context) error {
	return dbconn.WaitError(ctx, "the command was told to end")
}
