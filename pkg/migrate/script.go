package migrate

import (
	"fmt"
	"io"
	"strings"

	"github.com/amacneil/dbmate/v2/pkg/dbmate"
	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/db"
	"github.com/todoctl/todoctl/pkg/todo"
)

// SQL writes a script for psql that does what Up does, the recording of versions included: whoever
// may not let a tool change a schema reads it, runs it with psql -f, and Up has nothing left to do.
// What is applied already is skipped, so that one script serves a new database and an old one.
func SQL(w io.Writer, schema string) error {
	path := "the schema of the search_path"
	var b strings.Builder
	if schema != "" {
		path = "schema " + schema
	}
	fmt.Fprintf(&b, "-- todoctl, schema version %s, for %s.\n-- Run it with: psql -X -f FILE\n\n\\set ON_ERROR_STOP 1\n", Latest(), comment(path))
	if schema != "" {
		q := pgx.Identifier{schema}.Sanitize()
		fmt.Fprintf(&b, "SELECT to_regnamespace(%s) IS NULL AS missing \\gset\n\\if :missing\nCREATE SCHEMA %s;\nCOMMENT ON SCHEMA %s IS '%s';\n\\endif\nSET search_path = %s;\n",
			literal(q), q, q, created, q)
	}
	fmt.Fprintf(&b, "%s;\n", createTable(Table))
	for _, name := range files() {
		version, _, _ := strings.Cut(name, "_")
		file := dbmate.Migration{FileName: name, FilePath: "migrations/" + name, FS: db.Migrations, Version: version}
		sections, err := file.Parse()
		if err != nil {
			return &todo.Error{Code: todo.CodeInternal, Message: name + ": " + err.Error(), Err: err}
		}
		begin, commit := "BEGIN;\n", "COMMIT;\n"
		if !sections[0].UpOptions.Transaction() {
			begin, commit = "", ""
		}
		_, up, _ := strings.Cut(sections[0].Up, "\n") // after the line of the directive
		fmt.Fprintf(&b, "\nSELECT NOT EXISTS (SELECT FROM %s WHERE version = '%s') AS pending \\gset\n\\if :pending\n%s%s\nINSERT INTO %s (version) VALUES ('%s');\n%s\\endif\n",
			Table, version, begin, strings.TrimSpace(up), Table, version, commit)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// literal quotes a string for SQL whatever standard_conforming_strings says: without a backslash it
// is the plain form.
func literal(s string) string {
	quoted := "'" + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), "'", "''") + "'"
	if strings.Contains(s, `\`) {
		return "E" + quoted
	}
	return quoted
}

// comment keeps a name on its line.
func comment(s string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(s) }
