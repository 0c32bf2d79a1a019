package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/todoctl/todoctl/pkg/todo"
)

// planned is a statement and what its plan may hold.
type planned struct {
	name    string // of the case
	file    string
	args    pgx.StrictNamedArgs
	indexes []string // of todos
	bitmap  bool     // order does not matter
	sort    bool     // of what is no row of todos, or of the batch itself
	read    int      // rows of todos read at most when it runs; 0 where that is not counted
	custom  bool     // depends on which filters are given; it is never planned without them
}

func claims() []planned {
	scan := []string{"idx_todos_assigned", "idx_todos_pool"}
	hundred := make([]string, 100)
	for i := range hundred {
		hundred[i] = fmt.Sprintf("q%02d", i)
	}
	var list []planned
	for _, n := range []int{1, 100, 500} {
		args := func(more pgx.StrictNamedArgs) pgx.StrictNamedArgs {
			more["owner"], more["n"], more["ttl"], more["expired"] = "w1", n, time.Minute, ""
			return more
		}
		// Each todo is read in the scan and again by its place; a lapsed one a third time, for history.
		list = append(list,
			planned{name: fmt.Sprintf("claim %d", n), file: "claim", args: args(pgx.StrictNamedArgs{"queue": "q05"}), indexes: scan, read: 3*n + 2},
			planned{name: fmt.Sprintf("claim %d of few", n), file: "claim", args: args(pgx.StrictNamedArgs{"queue": "small"}), indexes: scan, read: 3*n + 2},
			planned{name: fmt.Sprintf("claim %d of 100 queues", n), file: "claim_many", args: args(pgx.StrictNamedArgs{"queues": hundred, "strict": false, "until": nil}),
				indexes: scan, sort: true, read: 200 + 3*n + 2},
			planned{name: fmt.Sprintf("claim %d of 100 queues in order", n), file: "claim_many", args: args(pgx.StrictNamedArgs{"queues": hundred, "strict": true, "until": time.Now()}),
				indexes: scan, sort: true, read: 200 + 3*n + 2})
	}
	return append(list,
		planned{name: "claim by id", file: "claim_id", args: pgx.StrictNamedArgs{"id": "td_00000300", "owner": "a", "ttl": time.Minute, "expired": ""},
			indexes: []string{"todos_pkey"}, read: 3},
		planned{name: "heads", file: "claim_heads", args: pgx.StrictNamedArgs{"queues": hundred, "owner": "w1"}, indexes: scan, sort: true, read: 102},
		planned{name: "why nothing", file: "claim_reason", args: pgx.StrictNamedArgs{"queues": hundred, "owner": "w1"},
			indexes: append(scan, "idx_todos_dead")},
		planned{name: "at the cap", file: "claim_capped", args: pgx.StrictNamedArgs{"queues": hundred[:2], "owner": "w1"}, indexes: scan, read: 4000})
}

func batches() []planned {
	key := []string{"todos_pkey"}
	var list []planned
	for _, n := range []int{1, 100, 500} {
		ids, seqs := make([]string, n), make([]*int, n)
		for i := range ids {
			ids[i], seqs[i] = fmt.Sprintf("td_%08d", 7+i*190), ptr(1)
		}
		add := func(file string, more pgx.StrictNamedArgs, read int) {
			more["ids"] = ids
			list = append(list, planned{name: fmt.Sprintf("%s %d", file, n), file: file, args: more, indexes: key, sort: true, read: read})
		}
		held := func(more pgx.StrictNamedArgs) pgx.StrictNamedArgs {
			more["seqs"], more["owner"], more["named"], more["force"] = seqs, "a", false, false
			return more
		}
		add("complete", held(pgx.StrictNamedArgs{"result": nil}), n)
		add("complete_each", pgx.StrictNamedArgs{"seqs": seqs, "results": make([]*string, n)}, n)
		add("fail", held(pgx.StrictNamedArgs{"error": "boom", "fingerprint": "", "result": nil, "retry_in": nil, "cap": time.Hour, "base": time.Minute, "dead": false, "outcome": "failed"}), 2*n)
		add("renew", pgx.StrictNamedArgs{"seqs": seqs, "ttl": time.Minute}, 2*n)
		add("progress", pgx.StrictNamedArgs{"seqs": seqs, "percents": make([]int, n)}, 2*n)
		add("heartbeat", held(pgx.StrictNamedArgs{"ttl": time.Minute}), 2*n)
		add("release", held(pgx.StrictNamedArgs{"delay": nil, "error": nil}), 2*n)
		add("reap", pgx.StrictNamedArgs{"expired": ""}, 2*n)
		add("bury", pgx.StrictNamedArgs{"op": "op_1", "force": false, "reason": nil, "fingerprint": ""}, 2*n)
		add("retry", pgx.StrictNamedArgs{"op": "op_1", "reserved": ids, "dead": true, "retrying": true, "max_attempts": nil, "delay": time.Duration(0),
			"seqs": nil, "stamps": nil}, 2*n)
		add("plan_part", pgx.StrictNamedArgs{"op": "op_1", "seqs": seqs, "stamps": make([]*string, n), "limit": 20}, n)
		add("undo", pgx.StrictNamedArgs{"op": "op_2", "undoes": "op_1", "reserved": ids}, 2*n)
		add("purge", pgx.StrictNamedArgs{"op": "op_1"}, 2*n)
		add("prune", pgx.StrictNamedArgs{"op": "op_1"}, 2*n)
		add("show", pgx.StrictNamedArgs{}, n)
		list = append(list, planned{name: fmt.Sprintf("classify %d", n), file: "classify", args: pgx.StrictNamedArgs{"ids": ids, "seqs": seqs},
			indexes: []string{"todos_pkey", "idx_todos_dedupe"}, sort: true, read: 2 * n})
		list = append(list, planned{name: fmt.Sprintf("bump %d", n), file: "bump", args: pgx.StrictNamedArgs{"op": "op_1", "ids": ids, "by": time.Hour, "front": true},
			indexes: []string{"todos_pkey", "idx_todos_pool"}, read: 3 * n})
	}
	return list
}

// reapArgs is a page of some queues in the middle, of their pools and of what is assigned to somebody.
func reapArgs(queues []string, assignee string, share int) pgx.StrictNamedArgs {
	args := pgx.StrictNamedArgs{"until": nil, "share": share}
	var names, times, ids []string
	var assignees []*string
	for _, q := range queues {
		names, assignees = append(names, q, q), append(assignees, nil, &assignee)
		times, ids = append(times, "2020-01-01", "-infinity"), append(ids, "", "")
	}
	args["queues"], args["assignees"], args["times"], args["ids"] = names, assignees, times, ids
	return args
}

func readers(queues []string) []planned {
	live := []string{"idx_todos_pool", "idx_todos_assigned"}
	list := []planned{
		{name: "what to reap", file: "reap_list", args: reapArgs(queues, "w0", 500), indexes: live, sort: true, read: 9*500 + 10},
		{name: "what to reap in one queue", file: "reap_list", args: reapArgs(queues[:1], "w0", 100), indexes: live, sort: true, read: 3*100 + 10},
		{name: "where to reap", file: "reap_scope", args: pgx.StrictNamedArgs{}, indexes: live, read: 1000},
		{name: "queues", file: "queues", args: pgx.StrictNamedArgs{"queues": nil, "least": 0}, indexes: []string{"idx_todos_dead", "queues_pkey"}},
		{name: "live of queues", file: "queues_live", args: pgx.StrictNamedArgs{"queues": nil, "least": 0}, indexes: live, sort: true, read: 90_000},
		{name: "live of one queue", file: "queues_live", args: pgx.StrictNamedArgs{"queues": queues[:1], "least": 10}, indexes: live, sort: true, read: 10_000},
		{name: "one queue", file: "queues", args: pgx.StrictNamedArgs{"queues": queues[:1], "least": 10}, indexes: []string{"idx_todos_dead", "queues_pkey"}, sort: true},
		{name: "leases of a queue", file: "pause_running", args: pgx.StrictNamedArgs{"queues": queues[:1]}, indexes: live, bitmap: true},
		{name: "the live one of a key", file: "enqueue_live", args: pgx.StrictNamedArgs{"queue": "q05", "key": "k1"}, indexes: []string{"idx_todos_dedupe"}, bitmap: true},
		{name: "why", file: "why", args: pgx.StrictNamedArgs{"id": "td_00000300", "owner": "w1", "cap": 100}, indexes: append([]string{"todos_pkey", "idx_todos_dedupe"}, live...), sort: true, read: 210},
		{name: "why of a queue", file: "why_queue", args: pgx.StrictNamedArgs{"queue": "q05", "owner": "w1", "cap": 100},
			indexes: append([]string{"todos_pkey", "idx_todos_ended", "idx_todos_dead"}, live...), sort: true, read: 1700},
		{name: "last trace", file: "why_owner", args: pgx.StrictNamedArgs{"owner": "w1", "cap": 1000}, indexes: append([]string{"todos_pkey"}, live...), read: 3000},
		{name: "who holds what", file: "owners", args: pgx.StrictNamedArgs{"queues": nil, "cap": 1000}, indexes: live, sort: true, read: 75_000},
		{name: "done since", file: "list_ended", args: pgx.StrictNamedArgs{"queues": nil, "done": true, "dead": true, "since": nil, "since_back": time.Hour, "page": 100},
			indexes: []string{"idx_todos_ended", "idx_todos_dead_at"}},
		{name: "in the order of their ends", file: "list_line_ended", args: Filter{Conditions: []todo.Condition{todo.IsDone, todo.IsDead}, Since: Moment{Back: ptr(time.Hour)}}.endedArgs(beginning(), "", 50),
			indexes: []string{"idx_todos_ended", "idx_todos_dead_at"}, sort: true, read: 40_000},
		{name: "that failed", file: "list_failures", args: pgx.StrictNamedArgs{"states": []string{"failed"}, "fingerprints": nil, "dead": false, "page": 100},
			indexes: []string{"idx_todos_failures"}, custom: true},
		{name: "by likeness", file: "list_failures", args: pgx.StrictNamedArgs{"states": []string{"failed", "done"}, "fingerprints": []string{"f1"}, "dead": true, "page": 100},
			indexes: []string{"idx_todos_failures", "idx_todos_fingerprint"}, custom: true},
		{name: "lengths of leases", file: "leases_advise", args: pgx.StrictNamedArgs{"queues": nil, "rows": 1000}, indexes: []string{"todos_pkey"}, sort: true, read: 1001},
		{name: "over a window", file: "queues_window", args: pgx.StrictNamedArgs{"queues": nil, "window": time.Hour, "cap": 1000},
			indexes: []string{"todos_pkey", "idx_todos_ended"}, sort: true},
		{name: "done ones", file: "queues_done", args: pgx.StrictNamedArgs{"queues": nil, "exact": false}, indexes: []string{"idx_todos_ended"}},
		{name: "how leases ended", file: "crashes_owners", args: pgx.StrictNamedArgs{"queues": nil, "window": time.Hour, "cap": 1000},
			indexes: append([]string{"todos_pkey", "idx_todos_ended"}, live...), sort: true},
		{name: "poison", file: "crashes_todos", args: pgx.StrictNamedArgs{"queues": nil, "window": time.Hour, "cap": 1000, "least": 3},
			indexes: []string{"todos_pkey"}, sort: true},
		{name: "what changed", file: "tail", args: pgx.StrictNamedArgs{"queues": nil, "since": time.Now(), "fresh": idFrom(time.Now()), "newest": idFrom(time.Now()), "ahead": 100},
			indexes: append([]string{"todos_pkey", "idx_todos_ended", "idx_attempts_ended", "queues_pkey"}, live...), sort: true},
		{name: "leases that end first", file: "leased", args: pgx.StrictNamedArgs{"queues": queues[:2], "each": 100, "page": 50}, indexes: append([]string{"queues_pkey"}, live...), sort: true},
		{name: "place in line", file: "list_place", args: pgx.StrictNamedArgs{"id": "td_00000300", "ended": false}, indexes: append([]string{"todos_pkey"}, live...), read: 102},
		{name: "by key", file: "list_keys", args: pgx.StrictNamedArgs{"queues": nil, "keys": []string{"k1", "k2"}, "live": true, "ended": true, "page": 100},
			indexes: []string{"idx_todos_dedupe", "idx_todos_key"}},
		{name: "whether many", file: "list_many", args: pgx.StrictNamedArgs{"queues": nil, "page": 1001}, indexes: live},
		{name: "whether many in a queue", file: "list_many", args: pgx.StrictNamedArgs{"queues": queues[:1], "page": 1001}, indexes: live, custom: true},
		{name: "in line", file: "list_line", args: inLine(Filter{}), indexes: live, sort: true, read: 100_000, custom: true},
		{name: "in line of a queue", file: "list_line", args: inLine(Filter{Queues: queues[:1], Kinds: []string{"a"}}), indexes: live, sort: true, read: 30_000, custom: true},
		{name: "names", file: "ids", args: pgx.StrictNamedArgs{"prefix": "td_0000"}, indexes: []string{"todos_pkey"}, custom: true},
	}
	waiting, gone := []todo.Condition{todo.IsPending, todo.IsRetrying}, []todo.Condition{todo.IsDead}
	for name, f := range map[string]Filter{
		"live": {Conditions: waiting}, "live of a queue": {Conditions: waiting, Queues: queues[:1]}, "live by key": {Conditions: waiting, Keys: []string{"k4"}},
		"live by assignee": {Conditions: waiting, Assignees: []string{"w1"}}, "held": {Conditions: waiting, Owners: []string{"a"}},
		"dead": {Conditions: gone}, "dead of a queue": {Conditions: gone, Queues: queues[:1]}, "dead of two queues": {Conditions: gone, Queues: queues[:2]}, "dead by likeness": {Conditions: gone, Fingerprints: []string{"f1"}},
		"live or dead": {Conditions: append(gone, waiting...)}, "all": {}, "by error": {Error: ptr("boom"), Conditions: gone},
	} {
		walk, key := f.walkArgs("td_00000100", pageSize, pageSize, nil, false), "todos_pkey"
		switch {
		case walk["dead_fingerprint"] != nil:
			key = "idx_todos_fingerprint"
		case walk["dead_queue"] != nil:
			key = "idx_todos_dead"
		case walk["dead_id"] == true:
			key = "idx_todos_dead_id"
		}
		byID := f.walkArgs("", pageSize, 2, []string{"td_00000001", "td_00000002"}, true)
		list = append(list, planned{name: "list " + name, file: "list", args: walk, indexes: []string{key}, read: pageSize + 1, custom: true},
			planned{name: "list " + name + " by id", file: "list", args: byID, indexes: []string{"todos_pkey"}, read: 2, custom: true})
		if file, args := f.lead(); file == "list_few" {
			list = append(list, planned{name: "few " + name, file: file, args: args, indexes: append(live, "idx_todos_dead", "idx_todos_dead_id", "idx_todos_dead_at", "idx_todos_fingerprint"), bitmap: true, custom: true})
		}
	}
	return list
}

func inLine(f Filter) pgx.StrictNamedArgs {
	f.Conditions = []todo.Condition{todo.IsPending, todo.IsClaimed}
	return f.lineArgs(beginning(), "", 50)
}

// No plan depends on statistics, on how many todos are done, or on whether it is made with the
// parameters or without. What runs reads no more rows than it needs.
func TestPlans(t *testing.T) {
	rows := 1_000_000
	if testing.Short() {
		rows = 200_000
	}
	w := newWorld(t)
	w.exec(strings.Replace(load, "ROWS", fmt.Sprint(rows), 1), pgx.QueryExecModeSimpleProtocol)
	cases := slices.Concat(claims(), batches(), readers([]string{"q00", "q01", "q02"}))
	for _, stage := range []struct{ statistics, prepare string }{
		{"of an empty table", ""},
		{"of when nothing was committed", "UPDATE pg_class SET reltuples = 0 WHERE oid = 'todos'::regclass"},
		{"of when nothing was claimed", "ANALYZE todos;" + lease5},
		{"fresh", "ANALYZE todos"},
	} {
		w.exec(stage.prepare, pgx.QueryExecModeSimpleProtocol)
		for _, c := range cases {
			off := without(c.file)
			if slices.Contains([]string{"bump", "bury", "retry", "purge", "undo"}, c.file) {
				off = byID() // sent once for the transaction of an operator's verb
			}
			for _, how := range []string{"custom", "generic", "run"} {
				if how == "generic" && c.custom || how == "run" && c.read == 0 {
					continue
				}
				p := w.plan(c.file, how, c.args, off)
				for _, fault := range p.faults(c.indexes, c.bitmap, c.sort) {
					t.Errorf("%s, %s, statistics %s: %s", c.name, how, stage.statistics, fault)
				}
				if n := p.rows(); how == "run" && n > c.read {
					t.Errorf("%s, statistics %s: reads %d rows, not at most %d", c.name, stage.statistics, n, c.read)
				}
			}
		}
	}
}

// The settings that keep plans on their indexes hold for the transaction and no longer, though no
// BEGIN is sent: a server that dropped them would plan as it likes.
func TestPlannerSettingsHold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := w.add("q")
	c := w.spliced(func(sql string) string {
		if !strings.HasPrefix(sql, "-- Reads todos by id.") {
			return sql
		}
		return strings.Replace(sql, "t.*,", "t.id, t.state, t.run_at, current_setting('enable_seqscan') || current_setting('jit') AS title,", 1)
	})
	s, err := c.Show(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if s.Title != "offoff" {
		t.Errorf("in the transaction the settings are %q", s.Title)
	}
	var after string
	if err := c.conn.QueryRow(t.Context(), "SELECT current_setting('enable_seqscan')").Scan(&after); err != nil || after != "on" {
		t.Errorf("after it the setting is %q, %v", after, err)
	}
}
