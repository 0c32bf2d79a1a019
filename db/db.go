// Package db holds the SQL of todoctl: the migrations that make its tables, one file for each
// statement that it runs, and the dump of the schema that both are checked against.
package db

import (
	"embed"
	"fmt"
)

// Migrations holds migrations/*.sql, in dbmate's format: one "-- migrate:up" and one
// "-- migrate:down" section in each, with a version of 14 digits before the first underscore.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Queries holds queries/*.sql: one statement in each, with @named parameters, every one of them cast.
//
//go:embed queries/*.sql
var Queries embed.FS

// Query returns the text of a statement by its name, that of its file without .sql.
func Query(name string) (string, error) {
	b, err := Queries.ReadFile("queries/" + name + ".sql")
	if err != nil {
		return "", fmt.Errorf("statement %s: %w", name, err)
	}
	return string(b), nil
}
