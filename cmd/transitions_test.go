package cmd_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// transition is one row of the contract's table, or of what it refuses: a command on one todo.
type transition struct {
	args  string // ID, RECEIPT and QUEUE stand for the todo's; OTHER for a receipt of another lease of it
	from  string // a name of situations
	code  int
	to    string // condition, attempt, lease_seq, owner and history as they are then; empty: nothing changed
	says  string // what stdout is, where it matters
	first string // a command that comes before and succeeds; to is compared with what is after it
}

// situations are the columns in which a todo of each condition differs from one just made. The holder is w, who also asks.
func situations() map[string]string {
	leased := "state = 'claimed', owner = 'w', claimed_at = now(), lease_seq = 1, attempt = 1, lease_expires_at = now() "
	failed := "state = 'failed', error = 'x', lease_seq = 1, attempt = 1, next_retry_at = now() "
	return map[string]string{
		"pending":  "",
		"delayed":  "run_at = now() + interval '1 hour'",
		"assigned": "assignee = 'bob'",
		"paused":   "kind = 'paused'",
		"claimed":  leased + "+ interval '1 hour'",
		"expired":  leased + "- interval '1 second'",
		"last":     leased + "+ interval '1 hour', max_attempts = 1",
		"capped":   leased + "- interval '1 second', max_attempts = 1",
		"retrying": failed + "+ interval '1 hour', run_at = now() + interval '1 hour'",
		"due":      failed + "- interval '1 second', run_at = now() - interval '1 second'",
		"dead":     "state = 'failed', error = 'x', owner = 'w', lease_seq = 6, attempt = 5, claimed_at = now(), completed_at = now()",
		"done":     "state = 'done', owner = 'w', lease_seq = 1, attempt = 1, claimed_at = now(), completed_at = now()",
		"twin":     "state = 'failed', lease_seq = 1, attempt = 1, completed_at = now()", // dead, while a live todo has its key
	}
}

// arrange makes a todo in the given situation, alone in its queue but for the twin.
func arrange(t *testing.T, conn *pgx.Conn, queue, situation string) (todo string) {
	t.Helper()
	columns, known := situations()[situation]
	if !known {
		t.Fatalf("no situation %q", situation)
	}
	todo = pgValue[string](t, conn, "INSERT INTO todos (queue, idempotency_key) VALUES ($1, 'k') RETURNING id", queue)
	pgExec(t, conn, "INSERT INTO queues (name, paused_at) VALUES ($1, CASE WHEN $2 = 'paused' THEN now() END)", queue, situation)
	if columns != "" {
		pgExec(t, conn, "UPDATE todos SET "+columns+" WHERE id = $1", todo)
	}
	if situation == "twin" {
		pgExec(t, conn, "INSERT INTO todos (queue, idempotency_key) VALUES ($1, 'k')", queue)
	}
	return todo
}

// stands is the todo in the words of a transition's to.
func stands(t *testing.T, conn *pgx.Conn, todo string) string {
	t.Helper()
	return pgValue[string](t, conn, `SELECT concat_ws(' ', CASE
		WHEN state = 'pending' AND run_at > now() THEN 'delayed' WHEN state = 'claimed' AND lease_expires_at <= now() THEN 'expired'
		WHEN state = 'failed' AND next_retry_at IS NULL THEN 'dead' WHEN state = 'failed' THEN 'retrying' ELSE state END,
		attempt, lease_seq, coalesce(owner, '-'),
		coalesce((SELECT string_agg(outcome, '+' ORDER BY lease_seq) FROM todo_attempts WHERE todo_id = id), '-')) FROM todos WHERE id = $1`, todo)
}

// walk runs transitions by the command, each on a todo of its own.
func walk(t *testing.T, name string, list []transition) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		c, conn, _ := withDB(t)
		for i, row := range list {
			queue := fmt.Sprint("q", i)
			todo := arrange(t, conn, queue, row.from)
			seq := pgValue[int](t, conn, "SELECT lease_seq FROM todos WHERE id = $1", todo)
			names := strings.NewReplacer("ID", todo, "RECEIPT", fmt.Sprintf("%s@%d", todo, max(seq, 1)), "OTHER", fmt.Sprintf("%s@%d", todo, seq+7),
				"QUEUE", queue, "EMPTY", "")
			words := func(line string) []string {
				list := strings.Fields(line)
				for i := range list {
					list[i] = names.Replace(list[i])
				}
				return list
			}
			if row.first != "" {
				c.ok(words(row.first)...)
			}
			before := snapshot(t, conn, todo)
			r := c.run(words(row.args)...)
			if r.code != row.code {
				t.Errorf("%s: todoctl %s: exit %d, want %d\n%s%s", row.from, row.args, r.code, row.code, r.out, r.err)
			}
			switch after := snapshot(t, conn, todo); {
			case row.to == "" && after != before:
				t.Errorf("%s: todoctl %s changed it from\n%s to\n%s", row.from, row.args, before, after)
			case row.to != "" && (after == before || stands(t, conn, todo) != row.to):
				t.Errorf("%s: todoctl %s left it as %s, want %s", row.from, row.args, stands(t, conn, todo), row.to)
			}
			if row.says != "" && strings.TrimSpace(r.out) != row.says {
				t.Errorf("%s: todoctl %s says %q, want %q", row.from, row.args, r.out, row.says)
			}
			if refused := row.code != 0 && row.code != 3; refused != (r.err != "") {
				t.Errorf("%s: todoctl %s: exit %d, and stderr is %q", row.from, row.args, r.code, r.err)
			}
		}
	})
}

// each makes one row of every situation that is named.
func each(args string, code int, to string, situations ...string) (list []transition) {
	for _, s := range situations {
		list = append(list, transition{args: args, from: s, code: code, to: to})
	}
	return list
}

func join(parts ...[]transition) (all []transition) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

func TestTransitionsOfEnqueueAndClaim(t *testing.T) {
	duplicate := func(says string, from ...string) []transition {
		list := each("enqueue -q QUEUE --key k --jq .created", 0, "", from...)
		for i := range list {
			list[i].says = says
		}
		return list
	}
	walk(t, "enqueue", join(
		duplicate("false", "pending", "delayed", "assigned", "paused", "claimed", "expired", "capped", "retrying", "due"),
		duplicate("true", "dead", "done"),
		[]transition{
			{args: "enqueue -q QUEUE --jq .created", from: "pending", says: "true"},
			{args: "enqueue -q QUEUE --key=", from: "pending", code: 2},
			{args: "enqueue --key k", from: "pending", code: 2},
			{args: "enqueue -q QUEUE --delay 1s --head-start 1s", from: "pending", code: 2},
			{args: "enqueue -q QUEUE --key k {", from: "pending", code: 6},
			{args: "enqueue -q QUEUE --event-id ev_none", from: "pending", code: 6},
		}))
	walk(t, "claim", join(
		each("claim -q QUEUE", 0, "claimed 1 1 w -", "pending"),
		each("claim -q QUEUE", 0, "claimed 2 2 w taken over", "expired"),
		each("claim -q QUEUE", 0, "claimed 2 2 w -", "due"),
		each("claim -q QUEUE --owner bob", 0, "claimed 1 1 bob -", "assigned", "pending"),
		each("claim -q QUEUE", 3, "", "delayed", "assigned", "paused", "claimed", "last", "retrying", "dead", "done"),
		each("claim -q QUEUE --owner v", 3, "dead 1 1 w expired", "capped"), // whoever sees it first
		each("claim -q QUEUE --wait 50ms", 3, "", "delayed"),
		each("claim -q QUEUE --ttl 0s", 2, "", "pending"),
		each("claim -q QUEUE --owner=", 2, "", "pending"),
		each("claim -q QUEUE -n 0", 2, "", "pending"),
		each("claim", 2, "", "pending"),
		each("claim -q nowhere", 3, "", "pending")))
	walk(t, "claim by id", join(
		each("claim ID", 0, "claimed 1 1 w -", "pending"),
		each("claim RECEIPT", 0, "claimed 2 2 w taken over", "expired"),
		each("claim ID", 0, "claimed 2 2 w -", "due"),
		each("claim ID --owner bob", 0, "claimed 1 1 bob -", "assigned"),
		each("claim ID", 4, "", "delayed", "assigned", "paused", "claimed", "last", "retrying", "dead", "done"),
		each("claim ID --owner v", 4, "dead 1 1 w expired", "capped"),
		each("claim td_none", 5, "", "pending"),
		each("claim EMPTY", 2, "", "pending"),
		each("claim ID@x", 2, "", "pending"),
		each("claim ID -q QUEUE", 2, "", "pending")))
}

// Whoever holds the lease: heartbeat, complete, fail and release guard alike.
func TestTransitionsOfTheLeaseHolder(t *testing.T) {
	notHeld := []string{"pending", "delayed", "assigned", "paused", "retrying", "due", "dead", "done"}
	guards := func(verb, changed string) []transition {
		return join(
			each(verb+" ID", 0, changed, "claimed", "expired"),
			each(verb+" RECEIPT", 0, changed, "claimed", "expired"),
			each(verb+" ID", 4, "", notHeld...),
			each(verb+" OTHER", 4, "", "pending", "claimed", "expired", "retrying", "dead", "done"),
			each(verb+" ID --owner v", 4, "", "claimed", "expired"),
			each(verb+" RECEIPT --owner v", 4, "", "claimed", "expired", "done"),
			each(verb+" td_none", 5, "", "claimed"),
			each(verb+" td_none td_nil", 5, "", "claimed"),
			each(verb+" OTHER td_none", 4, "", "claimed"),
			each(verb+" RECEIPT td_none", 7, changed, "claimed"),
			each(verb, 2, "", "claimed"),
			each(verb+" EMPTY", 2, "", "claimed"),
			each(verb+" ID@0", 2, "", "claimed"),
			each(verb+" ID --owner=", 2, "", "claimed"))
	}
	walk(t, "heartbeat", join(guards("heartbeat", "claimed 1 1 w -"),
		each("heartbeat ID --ttl 1ms", 2, "", "claimed"),
		each("heartbeat ID --force", 2, "", "claimed"),
		each("heartbeat ID --ttl 1m", 0, "claimed 1 1 w -", "last", "capped")))
	walk(t, "complete", join(guards("complete", "done 1 1 w -"),
		each("complete RECEIPT --result {}", 0, "done 1 1 w -", "last", "capped"),
		each("complete RECEIPT --result {", 6, "", "claimed"),
		each("complete RECEIPT --force", 2, "", "claimed"),
		[]transition{
			{args: "complete RECEIPT --jq .already", from: "claimed", first: "complete RECEIPT", says: "true"},
			{args: "complete RECEIPT", from: "claimed", first: "fail RECEIPT", code: 4},
			{args: "complete RECEIPT", from: "expired", first: "reap -q QUEUE", code: 4},
			{args: "complete RECEIPT", from: "expired", first: "claim ID", code: 4},
		}))
	walk(t, "fail", join(guards("fail", "retrying 1 1 - failed"),
		each("fail RECEIPT", 0, "dead 1 1 w failed", "last", "capped"),
		each("fail RECEIPT --dead", 0, "dead 1 1 w failed", "claimed", "expired"),
		each("fail RECEIPT --retry-in 1h", 0, "retrying 1 1 - failed", "claimed"),
		each("fail ID --force --error x", 0, "retrying 1 1 - failed", "claimed"),
		each("fail ID --force", 4, "", "pending", "dead", "done"),
		each("fail RECEIPT --dead --retry-in 1h", 2, "", "claimed"),
		each("fail RECEIPT --retry-in 5", 2, "", "claimed"),
		each("fail RECEIPT --result {", 6, "", "claimed"),
		[]transition{
			{args: "fail RECEIPT --jq .already", from: "claimed", first: "fail RECEIPT", says: "true"},
			{args: "fail RECEIPT", from: "claimed", first: "complete RECEIPT", code: 4},
			{args: "fail RECEIPT", from: "claimed", first: "release RECEIPT", code: 4},
		}))
	walk(t, "release", join(guards("release", "pending 0 1 - released"),
		each("release RECEIPT", 0, "pending 0 1 - released", "last", "capped"),
		each("release RECEIPT --delay 1h --error later", 0, "delayed 0 1 - released", "claimed"),
		each("release ID --force", 0, "pending 0 1 - released", "claimed"),
		each("release ID --force --owner w", 2, "", "claimed"),
		[]transition{
			{args: "release RECEIPT --jq .already", from: "claimed", first: "release RECEIPT", says: "true"},
			{args: "release RECEIPT", from: "claimed", first: "complete RECEIPT", code: 4},
			{args: "release RECEIPT", from: "claimed", first: "fail RECEIPT", code: 4},
			{args: "release RECEIPT", from: "claimed", first: "bury ID --force", code: 4},
		}))
}
