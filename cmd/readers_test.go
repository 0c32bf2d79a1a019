//go:build unix

package cmd_test

import (
	"strings"
	"testing"

	"github.com/todoctl/todoctl/pkg/pgtest"
)

// TestReadersUnderARoleThatMayOnlyRead runs every command that only reads as a role with SELECT alone, whose transactions are
// read-only as well. Each answers what it answers the owner of the tables, and each has JSON.
func TestReadersUnderARoleThatMayOnlyRead(t *testing.T) {
	t.Parallel()
	url := pgtest.Database(t)
	owner, conn := newCLIOn(t, url), pgtest.Connect(t, url)
	exampleTodos(t, conn)
	pgExec(t, conn, `INSERT INTO todos (id, queue, assignee, idempotency_key) VALUES ('td_own', 'other', 'ann', 'k')`)
	owner.ok("bury", "td_1", "--reason", "boom 7")
	op := owner.ok("journal", "--jq", ".[0].op")
	role := loginRole(t, url, "default_transaction_read_only = on")
	pgExec(t, conn, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO "+role)
	reader := owner.on(asRole(t, url, role))
	runs := map[string][]string{
		"list": {"--state", "all"}, "show": {"td_1"}, "queues": {"--window", "1h"}, "dead-letters": nil, "dead-letters list": {"--fp", "x"}, "dead-letters groups": nil,
		"why": {"td_own"}, "crashes": nil, "owners": nil, "check": nil, "export": {"-o", "jsonl"}, "journal": nil, "journal list": nil, "journal show": {op},
		"leases advise": nil, "doctor": nil,
	}
	for _, c := range commands() {
		path := strings.TrimPrefix(c.CommandPath(), "todoctl ")
		args, known := runs[path]
		if !known && c.Flags().Lookup("read-replica") != nil {
			t.Errorf("%s only reads, and is not among these", path)
		}
		if !known {
			continue
		}
		delete(runs, path)
		args = append(strings.Fields(path), args...)
		if path != "export" {
			args = append(args, "-o", "json")
		}
		r := reader.run(args...)
		if r.code != 0 && path != "doctor" || r.out == "" || r.out[0] != '{' && r.out[0] != '[' {
			t.Errorf("%v: exit %d\n%s%s", args, r.code, r.out, r.err)
		}
		decode[any](t, r.out)
	}
	if len(runs) > 0 {
		t.Errorf("there are no commands %v", runs)
	}
	for _, args := range [][]string{{"why", "-q", "mail", "--jq", ".code"}, {"queues", "--exact", "--jq", ".[].done"}, {"list", "--jq", ".[].id"}, {"show", "td_1", "--jq", ".error"},
		{"tail", "--since", "1h", "-n", "3", "--jq", ".to"}} {
		if got, want := reader.ok(args...), owner.ok(args...); got != want {
			t.Errorf("%v: the reader gets %q, the owner %q", args, got, want)
		}
	}
}
