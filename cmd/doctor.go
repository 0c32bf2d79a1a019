package cmd

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/todoctl/todoctl/pkg/dbconn"
	"github.com/todoctl/todoctl/pkg/doctor"
	"github.com/todoctl/todoctl/pkg/render"
	"github.com/todoctl/todoctl/pkg/todo"
)

const doctorHelp = `Ask whether PostgreSQL itself is hurting the queue: old snapshots and who holds them, dead rows and vacuum, the
plan of a claim, missing or invalid indexes, the schema, leases that nobody reaps, clocks, connections. Each
finding comes with the statement or command that mends it. It only reads; what the role may not see is unknown.

The exit status is monitoring's: 0 ok, 1 warning, 2 critical (also when the database cannot be reached), 3 unknown.`

const doctorExample = `  todoctl doctor || echo "look at it: $?"
  todoctl doctor --jq '.[] | select(.status != "ok") | .advice' || true`

func newDoctor(app *App) *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Ask whether PostgreSQL is hurting the queue", Long: doctorHelp + monitoringStatus, Example: doctorExample,
		GroupID: groupInspect, Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		Annotations: map[string]string{monitoring: "yes"},
		RunE:        func(c *cobra.Command, _ []string) error { return runDoctor(c, app) },
	}
}

func runDoctor(c *cobra.Command, app *App) error {
	shape := render.Shape{Many: true, Fields: render.FieldsOf(doctor.Finding{}), ID: "check",
		Table: []string{"check", "status", "message"}, Wide: []string{"check", "status", "message", "advice"}, TSV: []string{"check", "status", "message", "advice"}}
	if err := app.Check(shape); err != nil {
		return err
	}
	o, err := app.ConnOptions("doctor")
	if err != nil {
		return err
	}
	cfg, err := dbconn.ParseConfig(o)
	if err != nil {
		return err
	}
	list, err := doctor.Examine(c.Context(), cfg, o.Schema)
	if err != nil {
		return err
	}
	rows := make([]any, len(list))
	for i, f := range list {
		rows[i] = f
	}
	if err := app.Print(shape, zero(), rows...); err != nil {
		return err
	}
	for _, f := range list {
		if f.Advice != "" && app.people() {
			app.Note("%s: %s; mend it with: %s", f.Check, f.Message, f.Advice)
		}
	}
	worst := doctor.Worst(list)
	if code := map[doctor.Status]int{doctor.Warning: 1, doctor.Critical: 2, doctor.Unknown: 3}[worst]; code != 0 {
		return &statusError{code, errSilent}
	}
	return nil
}

// monitoring marks a command whose exit status is monitoring's.
const monitoring = "monitoring"

const monitoringStatus = `

EXIT STATUS
  0    ok           nothing to be done
  1    warning      worth a look
  2    critical     hurts now, or the database cannot be reached
  3    unknown      could not be judged; wrong usage too`

// monitored gives an error the exit status that monitoring expects: unknown for wrong usage, critical
// for a database that cannot be reached or used.
func monitored(err error) error {
	var own *statusError
	if err == nil || errors.As(err, &own) {
		return err
	}
	switch todo.CodeOf(err) {
	case todo.CodeUsage, todo.CodeInternal, todo.CodeDenied, todo.CodeInterrupted:
		return &statusError{3, err}
	}
	return &statusError{2, err}
}
