// Package db holds the SQL of todoctl: the migrations that make its tables, one file for each
// statement that it runs, and the dump of the schema that both are checked against.
package db

import "embed"

// Migrations holds migrations/*.sql, in dbmate's format: one "-- migrate:up" and one
// "-- migrate:down" section in each, with a version of 14 digits before the first underscore.
//
//go:embed migrations/*.sql
var Migrations embed.FS

// Queries holds queries/*.sql: one statement in each, with @named parameters, every one of them cast.
//
//go:embed queries/*.sql
var Queries embed.FS
