package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/todoctl/todoctl/db"
)

// psqlRun runs the real psql with one command.
func (b *bench) psqlRun(ctx context.Context, url, command string) (finished, error) {
	return program(ctx, os.Environ(), "", b.psql, "-XqAt", "-v", "ON_ERROR_STOP=1", "-c", command, url)
}

// literal fills the parameters of a statement of the product with values, so that psql can run it.
func literal(name string, values map[string]string) (string, error) {
	text, err := db.Queries.ReadFile("queries/" + name + ".sql")
	if err != nil {
		return "", err
	}
	missing := ""
	sql := regexp.MustCompile(`@\w+`).ReplaceAllStringFunc(string(text), func(p string) string {
		v, ok := values[p[1:]]
		if !ok {
			missing = p
		}
		return v
	})
	if missing != "" {
		return "", fmt.Errorf("%s.sql has a parameter %s that the benchmark does not know", name, missing)
	}
	return sql, nil
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
